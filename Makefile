# make help lists the targets. make test needs Go, make and git; a C compiler and a
# Docker engine it installs on Debian as root, and otherwise says how to.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

GO     ?= go
GOTEST ?= $(GO) test
# Tools have a module of their own, so that theirs are not our dependencies.
TOOL   := $(GO) tool -modfile=tools/go.mod

PLUGINS := $(patsubst plugins/%/main.go,%,$(wildcard plugins/*/main.go))
# What the race detector looks at: where goroutines meet.
RACE    := ./core ./core/model ./storekit/... ./plugins/sqlite/sqlitestore

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

.PHONY: setup
setup:
	@scripts/setup.sh

.PHONY: build
build: setup ## build anarchon and every plugin into bin/
	$(GO) build -o bin/ ./cmd/anarchon
	@for p in $(PLUGINS); do \
		echo "$(GO) build -o bin/anarchon-plugin-$$p ./plugins/$$p"; \
		$(GO) build -o "bin/anarchon-plugin-$$p" "./plugins/$$p"; \
	done

.PHONY: images
images: ## make sure of the Docker engine and of the images of the servers under test
	@scripts/images.sh $(IMAGES)

.PHONY: test
test: build vet images ## test everything: set-up, build, vet, images, unit tests, conformance of every plugin
	$(GOTEST) -timeout 30m ./...
	cd examples/mybackend && $(GOTEST) ./...
	GOTEST="$(GOTEST)" scripts/conformance.sh

.PHONY: conformance
conformance: setup images ## judge every plugin in every variant
	GOTEST="$(GOTEST)" scripts/conformance.sh

# The variants whose certificates are kept: each backend and strategy on its newest server.
CERTIFIED = sqlite-default redis-default redis-stream-id redis-idmp redis-script postgres-default nats-default rabbitmq-default

.PHONY: certificates
certificates: setup images ## judge every plugin, keep the certificates in docs/certificates, and make docs/backends.md of them
	CONFORMANCE_REPORT=report GOTEST="$(GOTEST)" scripts/conformance.sh
	mkdir -p docs/certificates
	@for c in $(CERTIFIED); do sed 's,"/tmp/[^"]*/,"$${tmp}/,' "report/$$c/conformance.json" >"docs/certificates/$$c.json"; done # whose temporary directory it was says nothing
	scripts/backends.sh

.PHONY: race
race: setup ## the concurrent packages under the race detector
	$(GOTEST) -race -short $(RACE)

.PHONY: vet
vet: setup ## go vet
	$(GO) vet ./...

.PHONY: lint
lint: setup ## staticcheck, and go vet of the other modules
	$(TOOL) staticcheck ./...
	$(GO) -C tools vet ./...
	$(GO) -C bench vet ./...
	$(GO) -C examples/mybackend vet ./...

.PHONY: fmt
fmt: ## check that everything is gofmt-ed
	@found=$$(gofmt -l .); \
	if [ -n "$$found" ]; then printf 'not gofmt-ed (run gofmt -w on them):\n%s\n' "$$found" >&2; exit 1; fi

.PHONY: generate
generate: ## make the generated code, and docs/conformance-matrix.md, anew
	$(GO) generate ./storekit/... ./conformance/matrix

# Files that say "Code generated", and whatever else lies in their folders.
.PHONY: check-generate
check-generate: generate ## check that the generated code is current
	@dirs=$$(git grep -lE '^(//|#) Code generated .* DO NOT EDIT\.$$' -- '*.go' '*.py' | xargs -n1 dirname | sort -u); \
	dirs="$$dirs docs/conformance-matrix.md"; \
	changed=$$(git status --porcelain -- $$dirs); \
	if [ -n "$$changed" ]; then \
		git --no-pager diff --stat -- $$dirs; \
		printf 'generated code is not current; commit what make generate changed:\n%s\n' "$$changed" >&2; exit 1; fi

.PHONY: vuln
vuln: ## known vulnerabilities of the dependencies (asks the Go vulnerability database: needs the network, so it is not part of test)
	$(TOOL) govulncheck ./...

# Packages with budgets, found by what their tests import.
BUDGETED = $$(grep -rlE 'anarchon/internal/budget"' --include=*_test.go core storekit plugins conformance cmd internal | xargs -n1 dirname | sort -u | sed 's,^,./,')

.PHONY: bench
bench: build images ## every budget, measured and judged, one package after the other; wants the machine for itself
	@{ $(GO) test -p 1 -count=1 -v -run Budget $(BUDGETED) -budget || :; \
	   $(GO) -C bench test -p 1 -count=1 -v -run Budget ./... -budget || :; } 2>&1 | $(GO) run ./scripts/budgets

.PHONY: peers
peers: setup ## other schedulers do the same work, side by side; wants the machine for itself
	scripts/images.sh redis-8.6 postgres-18
	@$(GO) -C bench run ./peers

.PHONY: microbench
microbench: setup ## Go benchmarks of all packages
	$(GO) test -run='^$$' -bench=. -benchmem ./core/... ./storekit/... ./plugins/...
	$(GO) -C bench test -run='^$$' -bench=. -benchmem ./...

.PHONY: release
release: setup ## command and plugins for Linux, amd64 and arm64, with checksums, into dist/
	@scripts/release.sh

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist report
