# Every target is one or two commands of the go tool; none needs anything else,
# except that the tests which compare with a real server want redis-server and
# redis-cli on the PATH, and that the suites want a Debian system.

GO          ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
# ST1005 wants errors in lower case; the ones here that begin with a capital
# are Redis's own texts.
CHECKS      := inherit,-ST1005

# Which units of an upstream suite: make suite SUITE_ARGS="-units pubsub,acl"
SUITE_ARGS ?=

# What to pass to the program: make run ARGS="--port 7000"
ARGS ?=
# Set by a release: make build VERSION=1.2.3
VERSION ?=
# Which packages: make race PKGS=./shard/...
PKGS ?= ./...
# Which benchmarks, and how long a fuzz target runs.
BENCH    ?= .
FUZZTIME ?= 60s

# The packages whose tests have a full form.
CHECKERS := ./integration/linear ./integration/ordering ./integration/faults \
	./integration/hostile ./shard

LDFLAGS := $(if $(VERSION),-X broker/internal/broker.Version=$(VERSION))

.DEFAULT_GOAL := help
.PHONY: help build run test test-all race reliability soak lint lint-fast fmt fuzz bench pgo suite suite-valkey clients clients-install client-suites static image-root image release release-check

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build ./broker
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o broker ./cmd/broker

run: build ## build and run it: make run ARGS="--port 7000"
	./broker $(ARGS)

test: ## vet and test everything
	$(GO) vet $(PKGS)
	$(GO) test -timeout 5m $(PKGS)

race: ## the same with the race detector and in random order
	$(GO) vet $(PKGS)
	$(GO) test -race -shuffle=on -timeout 10m $(PKGS)

# What the client programs need besides Debian's packages, which .ci/run lists.
clients-install: ## get the Go modules and npm packages of the client programs
	$(GO) -C integration/clients/programs/go mod download
	npm ci --prefix integration/clients/programs/node --no-audit --no-fund

clients: ## run the programs of the client libraries
	$(GO) -C integration/clients/programs/go vet ./...
	$(GO) test -count=1 -timeout 5m ./integration/clients

client-suites: ## run the tests that go-redis and rueidis bring for themselves
	$(GO) test -count=1 -v -timeout 15m ./integration/clients/suites -suites

test-all: test race fuzz reliability ## all of the tests: also race, a short run of every fuzz target, the checkers in full

# -p 1: the checkers measure, so they run one after the other.
FIGURES := $(CURDIR)/integration/reliability/testdata/figures

reliability: ## run the checkers in full and renew the README's table of their figures
	RELIABILITY=full FIGURES='$(FIGURES)' $(GO) test -count 1 -p 1 -timeout 30m $(CHECKERS)
	RELIABILITY=full FIGURES='$(FIGURES)' $(GO) test -count 1 -race -timeout 30m ./integration/torture
	$(GO) test ./integration/reliability -update

# How long the soak lasts: make soak SOAK=2h
SOAK ?= 30m

soak: ## let clients come and go for SOAK at half the peak rate, and watch memory
	SOAK='$(SOAK)' FIGURES='$(FIGURES)' $(GO) test -v -count 1 -timeout 0 -run 'TestSoak$$' ./integration/faults

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; \
	grep -rlE --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$$file" | while read -r target; do \
			echo "$$(dirname "$$file") $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
		done; \
	done

lint-fast: ## formatting and vet
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...

lint: lint-fast ## the same, staticcheck, and a build for a system without epoll
	GOOS=darwin $(GO) build -o /dev/null ./cmd/broker
	$(GO) run $(STATICCHECK) -checks '$(CHECKS)' ./...

fmt: ## format all Go files
	gofmt -w .

bench: ## run the benchmarks: make bench PKGS=./shard/... BENCH=Publish
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKGS)

# The benchmark's own client shares the process; -focus and -ignore leave its
# samples out.
pgo: ## renew the profile that cmd/broker is built with
	$(GO) test -run '^$$' -bench Serve -benchtime 2s -cpuprofile serve.pgo.tmp -o serve.test.tmp ./internal/broker
	$(GO) tool pprof -proto -focus='broker/(shard|resp|channelstore|internal)' -ignore=benchmarkServe serve.pgo.tmp > cmd/broker/default.pgo
	rm -f serve.pgo.tmp serve.test.tmp

# What these need and the machine lacks (dpkg-dev, tcl, redis-tools) they install.
suite: ## run Redis's own test suite, fetched as a Debian source package
	$(GO) run ./integration/suite -install $(SUITE_ARGS) redis

suite-valkey: ## the same with Valkey's, optional: Debian may have moved on
	$(GO) run ./integration/suite -install $(SUITE_ARGS) valkey

# What a release and an image contain: the same bytes from the same commit and
# the same Go, whatever the folder.
OUT  ?= dist/broker
DIST ?= dist

static: ## build the program as releases and images contain it, without C libraries: make static OUT=dist/broker
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w $(LDFLAGS)' -o $(OUT) ./cmd/broker

image-root: ## lay out the files of the container image in dist/image
	rm -rf $(DIST)/image
	mkdir -p $(DIST)/image/out/usr/bin
	$(MAKE) --no-print-directory static OUT=$(DIST)/image/out/usr/bin/broker
	ln -s broker $(DIST)/image/out/usr/bin/redis-server
	ln -s broker $(DIST)/image/out/usr/bin/redis-cli

image: image-root ## build the container image with buildah, without a daemon or a registry
	packaging/image.sh $(DIST)/image

release: ## make archives, Debian packages, bills of materials and checksums in dist/release
	VERSION=$(VERSION) DIST=$(DIST) packaging/release.sh

release-check: ## make a release twice, in different folders and with an empty build cache, and compare
	packaging/reproducible.sh
