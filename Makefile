# SPDX-License-Identifier: Apache-2.0
# `make help` says what there is. Nothing here needs to change when a source file is added.
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
SHELL := /bin/bash

CC ?= gcc
CLANG ?= clang
BUILD ?= build
PREFIX ?= /usr
ARCH ?= $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
ifeq ($(V),)
Q := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

WARN := -Wall -Wextra -Werror -Wshadow -Wmissing-prototypes -Wformat=2 -Wno-format-nonliteral -Wvla
CPPFLAGS += -D_GNU_SOURCE -Ibpf -Iuserspace -I$(BUILD)
CFLAGS ?= -O2 -g
CFLAGS += -std=gnu17 $(WARN) -fstack-protector-strong -MMD -MP
LIBS := -lbpf -lelf -lz -ljson-c -lcrypto
BPF_CFLAGS := -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror -Wno-unused-parameter \
	-Wno-gnu-variable-sized-type-not-at-end -Ibpf -Ivmlinux/$(ARCH) -MMD -MP

# Each program is its main.c and the libraries below; the linker takes what is used.
MAINS := $(addsuffix /main.c,userspace/daemon userspace/ship userspace/cli)
KERN := $(wildcard userspace/kern/*.c)
CORE := $(filter-out $(MAINS),$(foreach d,lib policy event control ship,$(wildcard userspace/$(d)/*.c)))
PROGRAMS := $(BUILD)/ringfence $(BUILD)/ringfenced $(BUILD)/ringfence-ship
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

##@ Build
all: $(PROGRAMS) ## the three programs, in build/

$(BUILD)/ringfence: $(call objects,$(wildcard userspace/cli/*.c) $(KERN) $(CORE))
$(BUILD)/ringfenced: $(call objects,$(wildcard userspace/daemon/*.c) $(KERN) $(CORE))
$(BUILD)/ringfence-ship: $(call objects,userspace/ship/main.c $(CORE))
$(PROGRAMS):
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS) $(LIBS)

# What tests and benchmarks run in a guest: a program is one file, or a folder with a main.c.
TEST_PROGRAMS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/vm/programs/*.c tests/bench/programs/*.c)) \
	$(patsubst tests/%/main.c,$(BUILD)/tests/%,$(wildcard tests/vm/programs/*/main.c))
tests: all $(TEST_PROGRAMS)
.SECONDEXPANSION:
$(BUILD)/tests/%: $$(call objects,$$(or $$(wildcard tests/$$*/*.c),tests/$$*.c)) \
		$(call objects,$(wildcard tests/oracle/oracle.c tests/oracle/random.c) $(KERN) $(CORE))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $^ -o $@ $(LDFLAGS) $(LIBS) -lpthread

$(BUILD)/obj/%.o: %.c $(BUILD)/config
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

$(call objects,$(KERN)): $(BUILD)/ringfence.skel.h

$(BUILD)/bpf/%.o: bpf/%.bpf.c $(BUILD)/config
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -c $< -o $@

# state.bpf.c first: libbpf 1.1 links references to maps only behind their definition.
BPF_FILES := bpf/state.bpf.c $(filter-out bpf/state.bpf.c,$(wildcard bpf/*.bpf.c))
$(BUILD)/ringfence.bpf.o: $(patsubst bpf/%.bpf.c,$(BUILD)/bpf/%.o,$(BPF_FILES))
	$(call say,BPFLINK,$@)
	$(Q)bpftool gen object $@ $^

$(BUILD)/ringfence.skel.h: $(BUILD)/ringfence.bpf.o
	$(call say,SKEL,$@)
	$(Q)bpftool gen skeleton $< name ringfence_bpf > $@

# Rebuilds everything when compilers or flags change; installs what a build needs when it is missing.
$(BUILD)/config: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CLANG) $(CFLAGS) $(CPPFLAGS) $(BPF_CFLAGS)' | cmp -s - $@ || { tests/deps.sh build && \
		echo '$(CC) $(CLANG) $(CFLAGS) $(CPPFLAGS) $(BPF_CFLAGS)' > $@; }
FORCE:

install: all ## programs, policies, man pages, units (DESTDIR, PREFIX)
	$(Q)deploy/install.sh '$(DESTDIR)' '$(PREFIX)' '$(BUILD)'

deps: ## installs every Debian package that build, tests and demo use
	$(Q)tests/deps.sh all

##@ Try it
demo: ## an agent at work and its hijack, fenced by a real kernel in a VM
	$(Q)tests/deps.sh all
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo/run.sh

vm: all ## a command in a guest: make vm KERNEL=7 CMD=bash
	$(Q)tests/vm/run.sh -k $(or $(KERNEL),7) -- $(or $(CMD),bash)

##@ Check it
test: ## everything that CI runs: lint, unit tests, corpus, VM suites on every kernel
	$(Q)tests/deps.sh all
	$(Q)tests/all.sh

check: ## the quick part: unit tests under ASan and UBSan, both compilers
	$(Q)tests/unit/run.sh

lint: ## formatting, includes, cppcheck, clang-tidy, shellcheck
	$(Q)tests/lint/run.sh

oracle: $(BUILD)/tests/oracle/oracle_main ## PAIRS (5,000,000) random pairs from SEED (1): the compiler of policies against the slow matcher
	$(Q)$< --pairs $(or $(PAIRS),5000000) --seed $(or $(SEED),1)

fuzz: ## every fuzz target for SECONDS (60)
	$(Q)tests/fuzz/run.sh $(or $(SECONDS_EACH),60)

bench: all ## what it costs, beside peers, in build/bench
	$(Q)tests/deps.sh all
	$(Q)tests/bench/run.sh

clean: ## removes build/
	rm -rf $(BUILD)

help: ## this text
	@awk -F ':.*## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

# keep objects of programs that are linked by pattern
.SECONDARY:
.PHONY: all tests install deps demo vm test check oracle lint fuzz bench clean help FORCE
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
