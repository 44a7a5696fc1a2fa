# SPDX-License-Identifier: Apache-2.0
# Unit tests, fuzz targets and the oracle under ASan and UBSan; no rule knows a file by name.
#   make -f tests/sanitized.mk CC=gcc OUT=build/check/gcc KIND=unit     every tests/unit/test_*.c, and the oracle
#   make -f tests/sanitized.mk CC=clang OUT=build/fuzz KIND=fuzz        every tests/fuzz/fuzz_*.c with libFuzzer
.DELETE_ON_ERROR:
.SECONDARY:
.DEFAULT_GOAL := all

SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
CPPFLAGS := -D_GNU_SOURCE -Ibpf -Iuserspace
CFLAGS := -std=gnu17 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Werror -MMD -MP $(SANITIZE)
# gcc guesses at lengths worse the more a sanitizer adds; the plain build has that warning on.
ifeq ($(findstring clang,$(CC)),)
CFLAGS += -Wno-format-truncation
endif
LIBS := -ljson-c -lcrypto
CORE := $(filter-out %/main.c,$(foreach d,lib policy event control ship,$(wildcard userspace/$(d)/*.c)))

ifeq ($(KIND),fuzz)
CFLAGS += -fsanitize=fuzzer-no-link
link := -fsanitize=fuzzer
programs := $(patsubst tests/fuzz/%.c,$(OUT)/%,$(wildcard tests/fuzz/fuzz_*.c))
else
LIBS += -lcmocka
programs := $(patsubst tests/unit/%.c,$(OUT)/%,$(wildcard tests/unit/test_*.c)) $(OUT)/oracle
endif

all: $(programs)

$(OUT)/oracle: $(patsubst tests/%.c,$(OUT)/obj/tests/%.o,$(wildcard tests/oracle/*.c))
$(filter $(OUT)/test_%,$(programs)): $(OUT)/test_%: $(OUT)/obj/tests/unit/test_%.o
$(filter $(OUT)/fuzz_%,$(programs)): $(OUT)/fuzz_%: $(OUT)/obj/tests/fuzz/fuzz_%.o
$(programs): $(OUT)/core.a
	@$(CC) $(CFLAGS) $(link) $(filter %.o,$^) $(OUT)/core.a -o $@ $(LIBS)

$(OUT)/core.a: $(patsubst %.c,$(OUT)/obj/%.o,$(CORE))
	@rm -f $@
	@ar rcs $@ $^

$(OUT)/obj/%.o: %.c tests/sanitized.mk
	@mkdir -p $(@D)
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@

.PHONY: all
-include $(shell find $(OUT) -name '*.d' 2>/dev/null)
