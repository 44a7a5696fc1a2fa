#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what rsyslog wrote with the log: check.py LOG RECEIVED COUNT. Prints what is wrong; nothing: all is well."""
import json
import re
import sys

PARAM = re.compile(rb' ([a-z_]+)="((?:[^"\\\]]|\\["\\\]])*)"')
LINE = re.compile(rb'\[ringfence@32473((?: [a-z_]+="(?:[^"\\\]]|\\["\\\]])*")+)\] ?(.*)')


def expected(log, count):
    """(cpu, seq) -> exact bytes of the object, from FILE.n to FILE."""
    import glob
    names = sorted(glob.glob(log + ".[0-9]*"), key=lambda n: -int(n.rsplit(".", 1)[1])) + [log]
    events = {}
    for name in names:
        with open(name, "rb") as f:
            for line in f:
                e = json.loads(line)
                exact = bytes.fromhex(e["object_hex"]) if "object_hex" in e else e["object"].encode()
                events[(e["cpu"], e["seq"])] = (exact, e["verdict"])
    if len(events) != count:
        print(f"the log holds {len(events)} events, not {count}")
    return events


def check(events, received):
    seen, order = set(), {}
    with open(received, "rb") as f:
        for number, line in enumerate(f.read().split(b"\n")[:-1], 1):
            match = LINE.fullmatch(line)
            if not match:
                print(f"line {number} is no event: {line[:200]!r}")
                continue
            params = {k.decode(): re.sub(rb'\\(["\\\]])', rb"\1", v) for k, v in PARAM.findall(match[1])}
            key = tuple(int(n) for n in params["seq"].split(b"/"))
            if key not in events:
                print(f"line {number}: {key} was never sent")
                continue
            exact, verdict = events[key]
            if params["verdict"].decode() != verdict or not match[2].startswith(verdict.encode() + b" file.read /home/x/"):
                print(f"line {number}: wrong verdict or sentence")
            if "object_hex" in params:
                if bytes.fromhex(params["object_hex"].decode()) != exact:
                    print(f"line {number}: object_hex is not the object of {key}")
            elif params["object"] != exact and not params["object"].endswith("…".encode()):
                print(f"line {number}: object is not the object of {key}: {params['object']!r}")
            if key in seen:
                continue
            seen.add(key)
            if key[1] < order.get(key[0], 0):
                print(f"line {number}: {key} came after {order[key[0]]}")
            order[key[0]] = key[1]
    missing = sorted(set(events) - seen)
    if missing:
        print(f"{len(missing)} events are missing, the first {missing[0]}, the last {missing[-1]}")


check(expected(sys.argv[1], int(sys.argv[3])), sys.argv[2])
