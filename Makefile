# Everything here needs Go, git and make, nothing else; what is missing is built into bin/ from Go modules.
# CI runs the same targets: see .ci/run.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# A checkout that belongs to somebody else can be built, too.
export GOFLAGS := $(strip $(filter-out -buildvcs=%,$(GOFLAGS)) -buildvcs=false)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Results of unchanged packages come from Go's cache, except in CI. Add flags: make test TEST_FLAGS='-run TestX -v'
TEST_FLAGS ?= $(if $(CI),-count=1)

PROGRESS := $(CURDIR)/test/tools/progress.sh
LINT := $(CURDIR)/bin/golangci-lint
MODULES := . build/image examples/schema/test test/devcluster test/lab/promql test/tools

# The linker of Go is faster than that of the system, and needs no C compiler.
GO_TEST := go test -ldflags=-linkmode=internal

# A folder for reports about flaky tests. With it, a failed test runs a second time. Only CI sets it, see .ci/run.
export FAIRLEAD_TEST_FLAKY
ifneq ($(FAIRLEAD_TEST_FLAKY),)
REPEAT := bin/repeat
GO_TEST += -exec "'$(CURDIR)/$(REPEAT)'"
endif

##@ Use

.PHONY: help
help: ## Show this help
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z-]+:.*## / {printf "  %-15s %s\n", $$1, $$2}' Makefile

.PHONY: demo
demo: cluster build ## Show what Fairlead does, on a cluster of its own
	go run ./test/e2e/demo

.PHONY: recording
recording: cluster build ## Record the demo again: docs/img/demo.svg
	go run ./test/e2e/demo --cast bin/demo.cast
	go run ./test/e2e/recording -cast bin/demo.cast -svg docs/img/demo.svg

.PHONY: dev
dev: cluster build ## Run a cluster with the operator until interrupted
	@# Not go run, which answers 1 to Ctrl-C, whatever the program does.
	@go build -o bin/demo ./test/e2e/demo
	bin/demo --dev

.PHONY: build
build: ## Build the programs: bin/fairlead, bin/fairlead-operator
	@$(PROGRESS) "bin/fairlead, bin/fairlead-operator" "3 to 8 minutes the first time, seconds later" \
		go build -v -ldflags "-X github.com/fairlead-io/fairlead/internal/version.Version=$(VERSION)" -o bin/ ./cmd/...

# What the image is for, and the time of everything in it: that of the last commit, so that the same commit gives the same bytes.
PLATFORMS ?= linux/amd64,linux/arm64
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: image
image: ## Build the operator's image for PLATFORMS, with bills of materials, as an OCI layout: bin/image
	go -C build/image run . -program $(CURDIR)/cmd/fairlead-operator -output $(CURDIR)/bin/image -platforms $(PLATFORMS) \
		-version $(VERSION) -revision "$$(git rev-parse HEAD 2>/dev/null)" -epoch $(SOURCE_DATE_EPOCH)

.PHONY: cluster
cluster: bin/devcluster ## Build the dev cluster: bin/devcluster

# The site is built from a copy, so that npm writes into bin only. Files that build/site does not have are removed.
.PHONY: site
site: bin/site/node_modules/.package-lock.json ## Build the site from docs/: bin/site/dist; needs Node.js 20 and npm
	find bin/site -mindepth 1 -maxdepth 1 -not -name node_modules -exec rm -rf {} +
	cp -r build/site/. bin/site/
	cd bin/site && npx --no-install vitepress build

bin/site/node_modules/.package-lock.json: build/site/package.json build/site/package-lock.json build/site/.npmrc
	@for program in node npm; do \
		command -v $$program >/dev/null || { echo "the site needs $$program: install Node.js 20 or later, with npm" >&2; exit 1; }; \
	done
	@mkdir -p bin/site
	cp $^ bin/site/
	cd bin/site && npm ci
	@touch $@

##@ Check

.PHONY: site-check
site-check: site ## Look at the site in headless Chromium: bin/site/screenshots, requests, links, widths, axe-core, search
	cd bin/site && node check.mjs

# Packages that need more programs than the dev cluster, or take long. make test runs their tests that need neither.
EXTENDED := ./cmd/fairlead/internal/scaffold ./test/chart ./test/docs ./test/lab/faults ./test/lab/hostile ./test/lab/soak \
	./test/lab/tenancy ./test/testcluster
# What specs run besides the dev cluster. Where others of a package do not, the specs have the build tag programs.
PROGRAMS := bin/helm bin/controller-gen bin/golangci-lint bin/kubectl bin/promql

.PHONY: test
test: cluster $(REPEAT) ## Run the tests that need no program but the dev cluster, and no long time; test-all runs the others, too
	$(GO_TEST) -short -p 2 $(TEST_FLAGS) $(EXTENDED)
	@# Three at a time, because most packages wait for controllers much of the time.
	$(GO_TEST) -p 3 -timeout 30m $(TEST_FLAGS) $$(go list ./... | grep -vxF "$$(go list $(EXTENDED))")
	cd examples/schema/test && $(GO_TEST) -timeout 15m $(TEST_FLAGS) ./...

.PHONY: test-all
test-all: cluster $(PROGRAMS) $(REPEAT) ## Run all tests, also of scaffolded projects, docs, chart, faults, soak, hostile and other modules
	$(GO_TEST) -p 2 -timeout 60m -tags programs,slow $(TEST_FLAGS) ./...
	cd test/devcluster && $(GO_TEST) -p 2 -timeout 5m $(TEST_FLAGS) ./...
	cd test/lab/promql && $(GO_TEST) $(TEST_FLAGS) ./...
	cd examples/schema/test && $(GO_TEST) -timeout 15m $(TEST_FLAGS) ./...
	cd build/image && $(GO_TEST) -timeout 10m $(TEST_FLAGS) ./...

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster
	$(GO_TEST) -short $(TEST_FLAGS) ./...

.PHONY: test-long
test-long: cluster $(PROGRAMS) ## Run all tests and those that take long: load, restarts, budgets, attacks
	$(GO_TEST) -p 1 -timeout 60m -tags long,programs,slow $(TEST_FLAGS) ./...
	@# With -v, because it says if a test was not run.
	cd examples/schema/test && $(GO_TEST) -timeout 15m -v -tags long $(TEST_FLAGS) ./...

# How many seeds, and the first of them: make faults SEEDS=1 SEED=123 repeats the run with seed 123.
SEEDS ?= 300
SEED ?=

.PHONY: faults
faults: cluster ## Let go wrong what can, SEEDS times: 300; test-long does, too
	go test -count=1 -timeout 60m -v ./test/lab/faults -seeds $(SEEDS) $(if $(SEED),-seed $(SEED))

.PHONY: mutations
mutations: cluster ## Introduce ten defects into the code, selected by SEED, and check that specs detect them
	go run ./test/lab/mutations $(if $(SEED),-seed $(SEED))

# How long, and what is chosen at random: make soak DURATION=5m SEED=123.
DURATION ?= 30m

.PHONY: soak
soak: cluster build ## Let components come and go amid trouble, for DURATION: 30m, and see that nothing is left
	go run ./test/lab/soak -duration $(DURATION) $(if $(SEED),-seed $(SEED))

.PHONY: hostile
hostile: cluster build ## Let a hostile tenant attack the operator beside a good one, for DURATION: 30m; test-long does, too
	go run ./test/lab/hostile -duration $(DURATION) $(if $(SEED),-seed $(SEED))

# The operator of the version before: make takeover OLD=../old/bin/fairlead-operator.
OLD ?= bin/fairlead-operator

.PHONY: takeover
takeover: cluster build ## Let the operator take over the live components of the operator OLD, and back, without writing a dependent
	go run ./test/lab/takeover -from $(OLD)

# How long each target runs, and which targets: make fuzz FUZZTIME=10m FUZZ='FuzzYAML|FuzzJSON'.
FUZZTIME ?= 90s
FUZZ ?= .*

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME: 90s, an hour for all; FUZZ='FuzzYAML|FuzzJSON' selects targets
	test/tools/fuzz.sh $(FUZZTIME) '$(FUZZ)'

# More flags: make bench BENCH_FLAGS='-scenario 1,3 -profiles bin/profiles'; go run ./test/lab/bench -help lists them.
# Operators side by side: make bench BENCH_FLAGS='-operator bin/old -operator bin/fairlead-operator'.
BENCH_FLAGS ?=

.PHONY: bench
bench: cluster build ## Measure the operator against its budgets: 20 minutes, on a machine that does nothing else
	go run ./test/lab/bench -json bin/bench.json $(BENCH_FLAGS)

.PHONY: bench-quick
bench-quick: cluster build ## Measure small sizes, in under 3 minutes
	go run ./test/lab/bench -quick -json bin/bench-quick.json $(BENCH_FLAGS)

# More flags: make house HOUSE_FLAGS='-coverage -top 10'; HOUSE_FLAGS='-C DIR' measures another checkout.
HOUSE_FLAGS ?=

.PHONY: house
house: ## Print measures of the code's layout, such as the largest package, type and function; fails for no value
	@go run ./test/lab/house $(HOUSE_FLAGS)

# Charts and kustomizations of anybody: a folder, or folder//path for one that refers to what is next to it. For make wild, charts.
CHARTS ?=

.PHONY: parity
parity: bin/helm bin/kustomize build ## Compare with helm template and kustomize build: CHARTS="dir dir//path"
	go run ./test/lab/parity $(CHARTS)

# More flags: make wild WILD_FLAGS='--again short --results bin/wild', or WILD_FLAGS=--migrate; go run ./test/lab/wild -help lists them.
WILD_FLAGS ?=

.PHONY: wild
wild: cluster bin/helm bin/kubectl build ## Install and remove charts by Helm and by Fairlead, on clusters, and compare: CHARTS="dir dir"
	go run ./test/lab/wild $(WILD_FLAGS) $(CHARTS)

.PHONY: lint
lint: bin/golangci-lint cluster ## Check the code against .golangci.yml
	@$(PROGRESS) "packages" "about 3 minutes the first time, seconds later" go list -export -f "" -v ./...
	$(LINT) run ./...
	cd test/devcluster && $(LINT) run ./...
	cd test/lab/promql && $(LINT) run ./...
	cd examples/schema/test && $(LINT) run ./...
	cd build/image && $(LINT) run ./...

.PHONY: verify
verify: bin/controller-gen bin/helm-docs ## Check that generated files and go.mod files are up to date
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	cp -r --parents api config examples internal pkg go.mod go.sum "$$copy"; \
	{ $(call generate,"$$copy"); } || exit 1; \
	for path in api config examples; do \
		diff -ru "$$path" "$$copy/$$path" || { echo "$$path is not up to date; run 'make generate'" >&2; exit 1; }; \
	done
	@$(REFERENCE)
	@for module in $(MODULES); do \
		difference=$$(go -C "$$module" mod tidy -diff) && continue; \
		sed '/^diff .*go.sum$$/,$$d' <<<"$$difference"; \
		echo "$$module/go.mod is not tidy; run 'go -C $$module mod tidy'" >&2; exit 1; \
	done

# The database of vulnerabilities is read from the network.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in the code that the programs and the library call; needs the network
	GOFLAGS=-buildvcs=false go run $(GOVULNCHECK) ./api/... ./cmd/... ./internal/... ./pkg/...
	cd build/image && GOFLAGS=-buildvcs=false go run $(GOVULNCHECK) ./...

##@ Change

.PHONY: generate
generate: bin/controller-gen bin/helm-docs ## Generate deep copies and CRDs from the types in api/ and examples/, the chart's files and README, docs/reference
	@$(call generate,.)
	@$(REFERENCE) -update-reference

.PHONY: format
format: bin/golangci-lint ## Format the code
	$(LINT) fmt ./...
	cd test/devcluster && $(LINT) fmt ./...
	cd test/lab/promql && $(LINT) fmt ./...
	cd examples/schema/test && $(LINT) fmt ./...
	cd build/image && $(LINT) fmt ./...

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin

# The packages that know what pages of docs/reference say. Their tests compare them, or write them.
REFERENCE := go test -count=1 -run '^TestReference' \
	./internal/reference ./cmd/fairlead-operator ./cmd/fairlead/internal/cli ./pkg/component/internal/metrics

# Generated files are removed first, so that those of a removed type don't stay.
define generate
(cd $(1) && find api -name 'zz_generated.*.go' -delete && rm -f config/crd/*.yaml && \
	$(CURDIR)/bin/controller-gen object paths=./api/... && \
	$(CURDIR)/bin/controller-gen crd paths=./api/v1alpha1/... output:crd:artifacts:config=config/crd && \
	for example in dns schema; do \
		$(CURDIR)/bin/controller-gen object paths=./examples/$$example/operator && \
		$(CURDIR)/bin/controller-gen crd paths=./examples/$$example/operator output:crd:artifacts:config=examples/$$example/config \
		|| exit 1; \
	done) && \
	go run ./config/generate $(1) && \
	bin/helm-docs --chart-search-root=$(1)/config/chart --sort-values-order=file --log-level=warning
endef

# The cluster has the version of the Kubernetes module that it is built from; clients parse it.
KUBERNETES = $(shell sed -n 's|^\tk8s.io/kubernetes v||p' test/devcluster/go.mod)
version_of = -X $(1).gitVersion=v$(KUBERNETES) \
	-X $(1).gitMajor=$(word 1,$(subst ., ,$(KUBERNETES))) -X $(1).gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))

# No -trimpath: with it nothing would be shared with what tests and linter compile. Moved into place when complete: it may be running.
bin/devcluster: $(shell find test/devcluster -name '*.go' -not -name '*_test.go') test/devcluster/go.mod test/devcluster/go.sum | bin
	@$(PROGRESS) $@ "a whole Kubernetes: 6 to 14 minutes on 2 cores the first time, 10 seconds later" \
		go -C test/devcluster build -v -o $(CURDIR)/$@.new \
		-ldflags "-s -w $(call version_of,k8s.io/component-base/version) $(call version_of,k8s.io/client-go/pkg/version)" .
	@mv $@.new $@

# The pages of docs/ are tried with the kubectl of the cluster's version.
bin/kubectl: test/devcluster/go.mod test/devcluster/go.sum | bin
	@$(PROGRESS) $@ "about 30 seconds on 2 cores, after the dev cluster" \
		go -C test/devcluster build -v -o $(CURDIR)/$@.new \
		-ldflags "-s -w $(call version_of,k8s.io/component-base/version) $(call version_of,k8s.io/client-go/pkg/version)" \
		k8s.io/kubernetes/cmd/kubectl
	@mv $@.new $@

# What reads the queries of dashboard and alerts, for their test.
bin/promql: $(wildcard test/lab/promql/*.go) test/lab/promql/go.mod test/lab/promql/go.sum | bin
	@$(PROGRESS) $@ "about 30 seconds on 2 cores" go -C test/lab/promql build -v -ldflags "-s -w" -o $(CURDIR)/$@.new .
	@mv $@.new $@

# What repeats failed tests in CI.
bin/repeat: $(wildcard test/repeat/*.go test/repeat/run/*.go) | bin
	go build -o $@ ./test/repeat/run

bin/golangci-lint: TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
bin/golangci-lint: EXPECTATION := about 2 minutes on 2 cores
bin/controller-gen: TOOL := sigs.k8s.io/controller-tools/cmd/controller-gen
bin/controller-gen: EXPECTATION := about 30 seconds on 2 cores
bin/helm: TOOL := helm.sh/helm/v3/cmd/helm
bin/helm: EXPECTATION := about 2 minutes on 2 cores
bin/helm-docs: TOOL := github.com/norwoodj/helm-docs/cmd/helm-docs
bin/helm-docs: EXPECTATION := about 20 seconds on 2 cores
bin/kustomize: TOOL := sigs.k8s.io/kustomize/kustomize/v5
bin/kustomize: EXPECTATION := about 30 seconds on 2 cores
bin/golangci-lint bin/controller-gen bin/helm bin/helm-docs bin/kustomize: test/tools/go.mod test/tools/go.sum | bin
	@$(PROGRESS) $@ "$(EXPECTATION)" go -C test/tools build -v -ldflags "-s -w" -o $(CURDIR)/$@.new $(TOOL)
	@mv $@.new $@

bin:
	@mkdir -p bin
