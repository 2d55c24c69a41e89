# The targets that people and CI call; make alone prints them.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

GO        ?= go
VERSION   := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFILES   := $(shell git ls-files --cached --others --exclude-standard '*.go' 2>/dev/null)
FUZZTIME  ?= 60s
NODE_DIR  := cmd/otlpgw/e2e/testdata/node

.PHONY: help run build check format tidy vet lint arrows check-peers test test-peers test-race test-plain test-mutations node-packages bench bench-paired bench-report bench-load fuzz clean

help: ## Print the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Build and run with the defaults; series are kept under ./data.
	./bin/otlpgw

build: ## Build bin/otlpgw.
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/otlpgw ./cmd/otlpgw

check: format tidy vet lint arrows check-peers ## Check format, modules, vet, linters and the arrows between packages.

format:
	@files="$$(gofmt -l $(GOFILES))"; \
	if [ -n "$$files" ]; then echo "not formatted with gofmt:"; echo "$$files"; exit 1; fi

tidy:
	$(GO) mod tidy -diff

vet:
	$(GO) vet ./...

lint: bin/golangci-lint
	./bin/golangci-lint run ./...

# The linter is a module of its own, so that its version and sums are pinned
# without ours depending on it.
bin/golangci-lint: tools/go.mod tools/go.sum
	$(GO) build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The peers of the benchmarks are a module of their own.
check-peers: bin/golangci-lint
	$(GO) -C bench/peers mod tidy -diff
	$(GO) -C bench/peers vet ./...
	cd bench/peers && ../../bin/golangci-lint run ./...

arrows:
	$(GO) test -count=1 -run '^TestArrows' .

test: node-packages test-peers test-race test-plain ## Run all tests, with the race detector and without.

# The race build poisons memory that was given back, and drops pool Puts at
# random; allocation asserts belong to the plain build.
test-race:
	$(GO) test -race -timeout 15m ./...

test-plain:
	$(GO) test -timeout 15m ./...

test-peers:
	$(GO) -C bench/peers test -timeout 15m ./...

# The OpenTelemetry SDK for Node, which the end-to-end tests push with.
node-packages:
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		echo "no Node here: the tests that push with the Node SDK will be skipped"; \
	elif [ $(NODE_DIR)/node_modules/.package-lock.json -nt $(NODE_DIR)/package-lock.json ]; then \
		:; \
	else \
		cd $(NODE_DIR) && npm ci --no-fund --no-audit && touch node_modules/.package-lock.json; \
	fi

test-mutations: ## Break one rule at a time; each time a named test must fail.
	$(GO) test -count=1 -timeout 30m -run '^TestMutations$$' . -mutations

bench: ## Run the benchmarks on 1 and 4 processors.
	$(GO) test ./bench -run '^$$' -bench . -cpu=1,4

# PAIRED holds further flags, such as PAIRED="-bench Handler/sdk/otlpgw -require ns/op<=-5%";
# go run ./bench/paired -help lists them.
bench-paired: ## Compare the benchmarks of the working tree with those of BASE=<rev>, in pairs.
	$(GO) run ./bench/paired -base '$(BASE)' $(foreach flag,$(PAIRED),'$(flag)')

bench-report: ## Write bench/results/<date>-<commit>; REPORT=quick only shows that it works.
	$(GO) run ./bench/report $(if $(filter quick,$(REPORT)),-quick)

# LOAD holds further flags, such as LOAD="-runs 1 -requests 3000"; go run
# ./bench/load -help lists them.
bench-load: ## Measure processes end to end; PEERS=1 builds and measures the peers too.
	$(GO) run ./bench/load $(if $(PEERS),-peers) $(LOAD)

fuzz: ## Run every fuzz target for FUZZTIME (60s).
	@$(GO) list ./... | while read -r pkg; do \
		for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s "$$pkg"; \
		done; \
	done

clean: ## Remove what was built.
	rm -rf bin $(NODE_DIR)/node_modules
