# SPDX-License-Identifier: Apache-2.0
# Builds, runs and tests Stillwire. `make run` and `make test` need only a clone: they install packages and build first.

PORT ?= 8080
VENV := .build/venv
PYTHON := $(VENV)/bin/python
# Options of pytest that run the files of tests in parallel, for tests that mostly wait.
BESIDE := --dist loadfile --numprocesses
# A test of real processes may fail because other parts use the processors, so it runs once more. `make test` prints
# its name at the end, even if it then passes.
PYTEST := STILLWIRE_BINARY=$(CURDIR)/.build/debug/stillwire $(PYTHON) -m pytest --reruns 1 -r fER
SWIFT_TESTS := .build/debug/stillwirePackageTests.xctest --testing-library swift-testing

.PHONY: help run run-cluster docs package check-package build test check test-c test-fuzz test-swift test-simulation \
  test-end-to-end test-cluster test-deployment test-faults test-stress test-browser test-clients test-sanitized fuzz \
  simulate format lint clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

run: ## build the release, start the relay with its page, and print the URL
	deploy/install-packages build
	swift build -c release --product stillwire
	.build/release/stillwire serve --port $(PORT) --data data --web web

run-cluster: ## build the release, and run three nodes and three NATS servers until Ctrl-C
	deploy/install-packages cluster
	swift build -c release --product stillwire
	deploy/run-cluster --port $(PORT)

# The newest build of the program, which prints the documents of the interface. `docs` builds one only if none exists.
PROGRAM = $(firstword $(shell ls -t .build/release/stillwire .build/debug/stillwire 2>/dev/null))

docs: $(VENV)/site ## build the documentation that the relay serves at /docs
	test -n "$(PROGRAM)" || { deploy/install-packages build && swift build --product stillwire; }
	mkdir -p .build/documents
	$(or $(PROGRAM),.build/debug/stillwire) document openapi > .build/documents/openapi.json
	$(or $(PROGRAM),.build/debug/stillwire) document asyncapi > .build/documents/asyncapi.json
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --config-file web/docs/site/mkdocs.yml
	rm -rf web/site && mv .build/site web/site

# A folder of its own, because other builds do not contain Swift's libraries.
PACKAGE := .build/package

package: $(VENV)/pack ## make dist: the Debian package, an archive, an image, the clients, checksums and an SBOM
	deploy/install-packages pack
	swift build -c release --product stillwire --static-swift-stdlib --disable-local-rpath --scratch-path $(PACKAGE)
	$(MAKE) docs PROGRAM=$(PACKAGE)/release/stillwire
	deploy/package/pack $(PACKAGE)

check-package: ## test the packages of `make package` in a new Debian root, as root
	deploy/package/check $(PACKAGE)

build: ## build the program and all Swift tests for debugging
	deploy/install-packages test
	swift build --build-tests $(BUILD_OPTIONS)

# Runs tests that wait in parallel with tests that compute, on one build. Make prints the output of a part at its end.
# If a part fails, make still runs the others.
PARTS := $(MAKE) --output-sync=target --keep-going --jobs

# Prints each line of the log that names a failed or repeated test, or a failed part, at the end of the output.
SUMMARY = echo "Failed or repeated:"; grep -aE "^(FAILED|ERROR|RERUN) |✘|: error:|\*\*\* \[|signal code|ERROR: [A-Z]" \
  .build/test.log | cut -c1-300 | tail -60

test: SHELL := /bin/bash
test: ## run all tests, and print at the end which of them failed
	deploy/install-packages test
	mkdir -p .build
	@set -o pipefail; $(PARTS) 3 build test-c test-fuzz test-end-to-end test-browser test-clients test-swift \
	  test-cluster test-deployment test-stress test-simulation 2>&1 | tee .build/test.log; status=$$?; $(SUMMARY); exit $$status

check: ## run the checks for a commit: the format, the build, and the unit tests in Swift and C
	deploy/install-packages test
	$(PARTS) 3 build test-c lint test-swift

test-c: ## test the C modules under address and undefined-behaviour sanitizers
	deploy/install-packages test
	$(MAKE) -C Tests/CRelayTests test
	$(MAKE) -C Tests/CRelayTests test-thread ONLY=wake
	$(MAKE) -C Tests/CLoadTests test
	$(MAKE) -C Tests/CRowsTests test

test-fuzz: ## run each fuzzer for 15 s
	deploy/install-packages test
	$(MAKE) -C Tests/Fuzz smoke

fuzz: ## fuzz the C module until an input causes a failure: TARGET=envelope, JOBS=2
	deploy/install-packages test
	$(MAKE) -C Tests/Fuzz $(or $(TARGET),envelope) JOBS=$(or $(JOBS),1)

simulate: build ## run the relay under a virtual clock, with crashes and restarts: STEPS=1000000, SEED=1
	@half=$$(( $(or $(STEPS),1000000) / 2 )); \
	simulate() { SIMULATION_STEPS=$$half SIMULATION_SEED=$$1 $(SWIFT_TESTS) --filter "every invariant"; }; \
	simulate $(or $(SEED),1) & first=$$!; \
	simulate $$(( $(or $(SEED),1) + (half + 999) / 1000 )); second=$$?; \
	wait $$first && exit $$second

test-faults: build
	$(SWIFT_TESTS) --filter RelaySimulationTests --skip "every invariant"

test-simulation: STEPS = 60000
test-simulation: simulate test-faults ## run the simulation for 60,000 steps, and check that it finds each planted fault

# Some of these tests have real clocks and servers, so all run once more if one fails.
# The clients talk to relays with real timeouts, and AppleTypeTests run compilers. Both would suffer from the other tests.
CLIENTS := "Stillwire(Client|UI)Tests"
# An older tzdata package than that of the system, for ZoneDumpTests.
OLDER_ZONES = $$($(PYTHON) -c 'import pathlib, tzdata; print(pathlib.Path(tzdata.__file__).parent / "zoneinfo")')
CORE_TESTS = STILLWIRE_OLDER_ZONES=$(OLDER_ZONES) $(SWIFT_TESTS) --skip RelaySimulationTests --skip $(CLIENTS)
CLIENT_TESTS := $(SWIFT_TESTS) --filter $(CLIENTS) --skip AppleTypeTests
test-swift: build $(VENV)/done ## test the Swift targets
	$(CORE_TESTS) || $(CORE_TESTS)
	$(CLIENT_TESTS) || $(CLIENT_TESTS)
	$(SWIFT_TESTS) --filter AppleTypeTests

test-end-to-end: build $(VENV)/done ## test a running relay with clients that know only the protocol
	$(PYTEST) $(BESIDE) 4 Tests/EndToEnd

test-cluster: build $(VENV)/done ## test clusters of relays and NATS servers with faults, under load
	$(PYTEST) --numprocesses 2 Tests/Cluster

test-deployment: build $(VENV)/done ## test the alerts, the dashboard and the manifests of the folder deploy
	$(PYTEST) Tests/Deployment

test-stress: build $(VENV)/done ## run seeded scenarios over raw sockets, several in parallel
	$(PYTEST) Tests/Stress

test-browser: build $(VENV)/done ## test the page, the room watcher and the documentation in a browser
	$(MAKE) docs
	$(PYTEST) Tests/Site
	$(PYTEST) $(BESIDE) 2 Tests/Browser

test-clients: build $(VENV)/done ## test the clients of apps with one specification, the parts of the JavaScript client, the Python client, and the Swift package
	node --test Tests/JavaScriptClient/*.test.js
	$(PYTEST) Tests/JavaScriptClient
	$(PYTEST) Tests/PythonClient
	$(PYTEST) Tests/SwiftPackage
	$(PYTEST) Tests/Conformance

# This needs separate builds, so it is not part of `test`. It does not detect leaks, because Swift's runtime leaks a
# little. The tests of the hub in C detect leaks.
test-sanitized: $(VENV)/done ## run the stress suite on a relay under the address sanitizer, then under the thread sanitizer
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

$(VENV)/site: web/docs/site/requirements.txt
	deploy/install-packages docs
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r web/docs/site/requirements.txt
	touch $@

# The tools that build the Python client, in the versions of the tests.
$(VENV)/pack: $(VENV)/site Tests/requirements.txt
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --constraint Tests/requirements.txt build hatchling
	touch $@

C_SOURCES = Sources/CRelay/*.c Sources/CRelay/*.h Sources/CRelay/*.cpp Sources/CRelay/*/*.c Sources/CRelay/*/*.h \
  Sources/CLoad/*.c Sources/CLoad/*.h Sources/CLoad/include/*.h \
  Sources/CRows/*.c Sources/CRows/*.h Sources/CRows/include/*.h \
  Sources/CDocuments/*.c Sources/CDocuments/include/*.h \
  Tests/CRelayTests/*.c Tests/CRelayTests/*.h Tests/CLoadTests/*.c Tests/CRowsTests/*.c Tests/CRowsTests/*.h \
  Tests/Fuzz/*.c Tests/Fuzz/*.h

format: ## format all sources
	swift format --in-place --recursive Package.swift Sources Tests
	clang-format -i $(C_SOURCES)

lint: ## check the format of all sources, that each field of a request is declared once, and the arrows between folders
	deploy/install-packages test
	python3 Tests/Structure/fields.py
	python3 Tests/Structure/arrows.py
	swift format lint --strict --recursive Package.swift Sources Tests
	clang-format --dry-run -Werror $(C_SOURCES)

clean: ## delete the build
	rm -rf .build dist web/site
