# SPDX-License-Identifier: Apache-2.0
# make run and make test do everything, from a clone to the end.

PORT ?= 8080
VENV := .build/venv
PYTHON := $(VENV)/bin/python
# Tests that mostly wait do so beside each other, file by file.
BESIDE := --dist loadfile --numprocesses
SWIFT_TESTS := .build/debug/stillwirePackageTests.xctest --testing-library swift-testing

.PHONY: help run docs test test-sanitized test-c test-fuzz test-swift test-simulation test-end-to-end test-clients fuzz simulate format lint clean

help: ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

run: ## build the release, start it with the page, print its address
	deploy/install-packages build
	swift build -c release --product stillwire
	$(MAKE) docs CONFIGURATION=release
	.build/release/stillwire serve --port $(PORT) --data data --web web

docs: ## make the documentation that the relay serves at /docs: CONFIGURATION=release
	deploy/install-packages build
	swift build -c $(or $(CONFIGURATION),debug) --product stillwire-docs
	.build/$(or $(CONFIGURATION),debug)/stillwire-docs . web/docs

test: test-c test-fuzz test-swift test-simulation test-end-to-end test-clients ## run all tests

test-c: ## the C modules under address and undefined-behaviour sanitizers
	deploy/install-packages test
	$(MAKE) -C Tests/CRelayTests test
	$(MAKE) -C Tests/CRelayTests test-thread ONLY=wake
	$(MAKE) -C Tests/CLoadTests test

test-fuzz: ## a minute of what `make fuzz` does
	deploy/install-packages test
	$(MAKE) -C Tests/Fuzz smoke

fuzz: ## look for inputs that break the C module, until one is found: TARGET=envelope, JOBS=2
	deploy/install-packages test
	$(MAKE) -C Tests/Fuzz $(or $(TARGET),envelope) JOBS=$(or $(JOBS),1)

simulate: ## the relay under a virtual clock, crashing and restarting: STEPS=1000000, SEED=1
	deploy/install-packages test
	swift build --build-tests
	@half=$$(( $(or $(STEPS),1000000) / 2 )); \
	simulate() { SIMULATION_STEPS=$$half SIMULATION_SEED=$$1 $(SWIFT_TESTS) --filter "every invariant"; }; \
	simulate $(or $(SEED),1) & first=$$!; \
	simulate $$(( $(or $(SEED),1) + (half + 999) / 1000 )); second=$$?; \
	wait $$first && exit $$second

test-simulation: ## a part of what `make simulate` does, and whether it would find what is wrong
	$(MAKE) simulate STEPS=100000
	$(SWIFT_TESTS) --filter RelaySimulationTests --skip "every invariant"

test-swift: ## the Swift targets
	deploy/install-packages test
	swift build --build-tests
	swift test --skip-build --skip RelaySimulationTests

test-end-to-end: $(VENV)/done ## a running relay, by clients that know only the protocol, and the page and the documentation in a browser
	deploy/install-packages test
	swift build --build-tests
	$(MAKE) docs
	STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest $(BESIDE) 3 Tests/EndToEnd
	STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest Tests/Stress
	STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest $(BESIDE) 2 Tests/Browser

test-clients: $(VENV)/done ## the clients: one specification for all of them, and what each has of its own
	deploy/install-packages test
	swift build --build-tests
	node --test Tests/JavaScriptClient/*.test.js
	STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest Tests/JavaScriptClient
	STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest Tests/Conformance

# Builds of their own, so this is not part of `test`. Leaks are the hub's tests' business: Swift's runtime keeps some.
test-sanitized: $(VENV)/done ## the stress suite on a relay under address, then thread sanitizer
	deploy/install-packages test
	swift build --product stillwire --sanitize=address --scratch-path .build/address
	cd Tests/Stress && ASAN_OPTIONS=detect_leaks=0 STILLWIRE_SLOW=6 \
	  $(CURDIR)/$(PYTHON) -m stress --at-once 4 --binary $(CURDIR)/.build/address/debug/stillwire
	swift build --product stillwire --sanitize=thread --scratch-path .build/thread
	cd Tests/Stress && TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/Stress/thread.supp STILLWIRE_SLOW=6 \
	  $(CURDIR)/$(PYTHON) -m stress --at-once 4 --binary $(CURDIR)/.build/thread/debug/stillwire

$(VENV)/done: Tests/requirements.txt
	deploy/install-packages test
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r Tests/requirements.txt
	touch $@

C_SOURCES = Sources/CRelay/*.c Sources/CRelay/*.h Sources/CRelay/*.cpp Sources/CRelay/include/*.h \
  Sources/CLoad/*.c Sources/CLoad/*.h Sources/CLoad/include/*.h \
  Tests/CRelayTests/*.c Tests/CRelayTests/*.h Tests/CLoadTests/*.c Tests/Fuzz/*.c Tests/Fuzz/*.h

format: ## bring all sources into their form
	swift format --in-place --recursive Package.swift Sources Tests
	clang-format -i $(C_SOURCES)

lint: ## check the form of all sources
	deploy/install-packages test
	swift format lint --strict --recursive Package.swift Sources Tests
	clang-format --dry-run -Werror $(C_SOURCES)

clean: ## forget what was built
	rm -rf .build web/docs
