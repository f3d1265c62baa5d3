package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
	"github.com/fairlead-io/fairlead/pkg/source"
)

// scaffoldShop executes the command scaffold with all required flags.
func scaffoldShop(ctx context.Context, dir string, flags ...string) result {
	return run(ctx, append([]string{
		"fairlead", "scaffold", dir, "--group=apps.example.com", "--kind=Shop",
		"--operator-name=shop-operator.example.com", "--module=example.com/shop-operator",
	}, flags...)...)
}

// project writes the files of a project, except for the files that its tools generate.
func project(ctx context.Context) string {
	GinkgoHelper()
	answers := scaffold.Options{
		Group: "apps.example.com", Kind: "Shop", OperatorName: "shop-operator.example.com",
		Module: "example.com/shop-operator",
	}
	rendered, err := scaffold.New(ctx, scaffold.Request{
		Options:  answers.WithDefaults(),
		Fairlead: must(scaffold.FindFairlead("")),
	})
	Expect(err).NotTo(HaveOccurred())
	var files []string
	for _, file := range rendered.Files {
		files = append(files, file.Path, string(file.Content))
	}
	return folder(files...)
}

// edit replaces text in files of a folder.
func edit(dir, before, after string, files ...string) {
	GinkgoHelper()
	for _, file := range files {
		place := filepath.Join(dir, file)
		text := string(must(os.ReadFile(place)))
		Expect(text).To(ContainSubstring(before))
		Expect(os.WriteFile(place, []byte(strings.Replace(text, before, after, 1)), 0o600)).To(Succeed())
	}
}

// entries returns the names of the files in a folder.
func entries(dir string) (names []string) {
	GinkgoHelper()
	for _, entry := range must(os.ReadDir(dir)) {
		names = append(names, entry.Name())
	}
	return names
}

// chartWith writes a chart with a template that ends with the given text.
func chartWith(template string) string {
	GinkgoHelper()
	return folder("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}\n", "templates/page.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: page}\n"+template+"\n")
}

var _ = Describe("scaffold", func() {
	DescribeTable("names the invalid flags, with exit code 2, for", func(ctx SpecContext, flags []string, want ...string) {
		dir := filepath.Join(folder(), "new")
		r := scaffoldShop(ctx, dir, flags...)
		Expect(r).To(And(HaveField("Code", 2), HaveField("Out", "")))
		Expect(r.Err).To(HaveSuffix("See 'fairlead scaffold --help'.\n"))
		for _, text := range want {
			Expect(r.Err).To(ContainSubstring(text))
		}
		Expect(dir).NotTo(BeADirectory())
	},
		Entry("invalid names", []string{"--kind=shop", "--group=apps", "--version=1"}, "--kind", "--group",
			"--version"),
		Entry("an unknown generator", []string{"--generator=jsonnet"}, "Helm, Kustomize, GoTemplate, Go"),
		Entry("an unknown interface", []string{"--interfaces=colour"}, "--interfaces"),
		Entry("an owner with a line feed", []string{"--owner=Example\nInc."}, `--owner "Example\nInc."`, "want one line"),
		Entry("a license that SPDX does not have", []string{"--spdx-license-headers=all rights"},
			"license expression of SPDX"),
		Entry("a chart and a kustomization", []string{"--chart=a", "--kustomization=b"}, "exclude each other"),
		Entry("a chart for another generator", []string{"--chart=a", "--generator=go"}, "--generator Helm"),
		Entry("a folder that is no checkout", []string{"--fairlead-dir=/nowhere"}, "--fairlead-dir /nowhere"),
	)

	It("lists the files of a dry run, and writes none", func(ctx SpecContext) {
		parent := folder("there/main.go", "mine")
		r := scaffoldShop(ctx, filepath.Join(parent, "there"), "--dry-run")
		Expect(r).To(And(HaveField("Code", 0), HaveField("Err", "")))
		Expect(strings.Split(r.Out, "\n")).To(ContainElements("main.go (exists)", "Makefile", "go.sum",
			"chart/definitions/apps.example.com_shops.yaml"))
		Expect(scaffoldShop(ctx, filepath.Join(parent, "new"), "--dry-run").Out).NotTo(ContainSubstring("(exists)"))
		Expect(entries(parent)).To(ConsistOf("there"))
		Expect(entries(filepath.Join(parent, "there"))).To(ConsistOf("main.go"))
	})

	It("prints the same warnings in a dry run", func(ctx SpecContext) {
		chart := chartWith("data: {{ toYaml .Values.free | nindent 2 }}")
		Expect(os.WriteFile(filepath.Join(chart, "values.yaml"), []byte("free: {a: b}\n"), 0o600)).To(Succeed())
		dir := folder("internal/generator/chart/templates/old.yaml", "")
		r := scaffoldShop(ctx, dir, "--chart", chart, "--dry-run")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Err).To(And(ContainSubstring("warning: free: free-form"),
			ContainSubstring("warning: internal/generator/chart/templates/old.yaml existed before")))
	})

	It("writes the license Apache-2.0 without a value of --spdx-license-headers, and the "+
		"owner of files", func(ctx SpecContext) {
		r := scaffoldShop(ctx, filepath.Join(folder(), "new"), "--owner=@example/platform", "--spdx-license-headers",
			"--dry-run")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(strings.Split(r.Out, "\n")).To(ContainElements(".github/CODEOWNERS", "hack/boilerplate.go.txt"))
	})

	It("accepts the name of a generator in upper or lower case", func(ctx SpecContext) {
		for _, generator := range []string{"gotemplate", "GoTemplate"} {
			r := scaffoldShop(ctx, filepath.Join(folder(), "new"), "--generator", generator, "--dry-run")
			Expect(r.Code).To(Equal(0), r.Err)
			Expect(r.Out).To(ContainSubstring("internal/generator/templates/web.yaml"))
		}
		r := scaffoldShop(ctx, filepath.Join(folder(), "new"), "--chart", chartWith(""), "--generator=HELM", "--dry-run")
		Expect(r.Code).To(Equal(0), r.Err)
	})

	It("overwrites nothing, and names all existing files", func(ctx SpecContext) {
		dir := folder("main.go", "mine", "chart/Chart.yaml", "mine", "notes.txt", "mine")
		r := scaffoldShop(ctx, dir)
		Expect(r).To(Equal(result{Code: 2, Err: "fairlead: nothing was written: " + dir +
			" already has chart/Chart.yaml, main.go; --dry-run lists these files, and --force overwrites them, so that their " +
			"content is lost\n"}))
		Expect(entries(dir)).To(ConsistOf("main.go", "chart", "notes.txt"))
	})

	It("refuses a chart that cannot be rendered, with file and line", func(ctx SpecContext) {
		for _, flag := range []string{"--dry-run=false", "--dry-run"} {
			dir := filepath.Join(folder(), "new")
			r := scaffoldShop(ctx, dir, "--chart", chartWith("data: {{ if }}"), flag)
			Expect(r).To(And(HaveField("Code", 2), HaveField("Out", "")))
			Expect(r.Err).To(And(HavePrefix("fairlead: the chart cannot be rendered: "),
				ContainSubstring("shop/templates/page.yaml:4")))
			Expect(dir).NotTo(BeADirectory())
		}
	})

	It("accepts the archive of a chart", func(ctx SpecContext) {
		files := fstest.MapFS{}
		for _, name := range []string{"Chart.yaml", "templates/page.yaml"} {
			files["shop/"+name] = &fstest.MapFile{Data: must(os.ReadFile(filepath.Join(chartWith(""), name)))}
		}
		archive := filepath.Join(folder("shop-1.0.0.tgz", string(must(source.Pack(files)))), "shop-1.0.0.tgz")
		r := scaffoldShop(ctx, filepath.Join(folder(), "new"), "--chart", archive, "--dry-run")
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(strings.Split(r.Out, "\n")).To(ContainElements("internal/generator/chart/Chart.yaml",
			"internal/generator/chart/templates/page.yaml"))
	})
})

var _ = Describe("scaffold update", func() {
	const base = ".fairlead/base.txtar"

	It("reports that the project is up to date", func(ctx SpecContext) {
		dir := project(ctx)
		Expect(run(ctx, "fairlead", "scaffold", "update", dir, "--dry-run")).To(Equal(result{Out: dir + " is up to date\n"}))
		GinkgoT().Chdir(dir)
		Expect(run(ctx, "fairlead", "scaffold", "update", "--dry-run")).To(Equal(result{Out: ". is up to date\n"}))
	})

	It("lists the changes of newer templates, and writes nothing in a dry run", func(ctx SpecContext) {
		dir := project(ctx)
		edit(dir, "Show this help", "Show some help", "Makefile", base)
		edit(dir, "Remove what was built", "Tidy up", "Makefile")
		edit(dir, "-- Dockerfile --", "-- Containerfile --", base)
		Expect(os.Remove(filepath.Join(dir, "Dockerfile"))).To(Succeed())
		edit(dir, "package main", "package main // Older.", "main.go", base)
		was := must(os.ReadFile(filepath.Join(dir, "Makefile")))
		r := run(ctx, "fairlead", "scaffold", "update", dir, "--dry-run")
		Expect(r).To(Equal(result{Out: "create Dockerfile\nmerge Makefile\nupdate main.go\n"}))
		Expect(os.ReadFile(filepath.Join(dir, "Makefile"))).To(Equal(was))
	})

	It("has exit code 1 for conflicts, with file and line, and writes them with --keep-conflicts", func(ctx SpecContext) {
		dir := project(ctx)
		edit(dir, "Show this help", "Show some help", "Makefile", base)
		edit(dir, "Show some help", "Show my help", "Makefile")
		was := string(must(os.ReadFile(filepath.Join(dir, "Makefile"))))
		line := strings.Count(strings.Split(was, "Show my help")[0], "\n") + 1
		conflict := fmt.Sprintf("conflict Makefile:%d: changed here, and differently by the template\n", line)

		r := run(ctx, "fairlead", "scaffold", "update", dir)
		Expect(r).To(Equal(result{
			Code: 1, Out: "merge Makefile\n" + conflict,
			Err: "fairlead: nothing was written because of 1 conflict; --keep-conflicts marks these in the files\n",
		}))
		Expect(os.ReadFile(filepath.Join(dir, "Makefile"))).To(BeEquivalentTo(was))

		r = run(ctx, "fairlead", "scaffold", "update", dir, "--keep-conflicts")
		Expect(r).To(And(HaveField("Code", 1), HaveField("Out", ContainSubstring(conflict)),
			HaveField("Out", ContainSubstring("go mod tidy && make generate"))))
		Expect(os.ReadFile(filepath.Join(dir, "Makefile"))).To(ContainSubstring("<<<<<<< yours"))
		Expect(run(ctx, "fairlead", "scaffold", "update", dir, "--dry-run").Out).
			To(Equal(dir+" is up to date\n"), "the project must be up to date after the merge")
	})

	It("lists the written files if the tools of the project fail", func(ctx SpecContext) {
		dir := project(ctx)
		edit(dir, "Show this help", "Show some help", "Makefile", base)
		GinkgoT().Setenv("PATH", folder())
		r := run(ctx, "fairlead", "scaffold", "update", dir)
		Expect(r.Code).To(Equal(1))
		Expect(r.Out).To(ContainSubstring("update Makefile\n"))
		Expect(r.Err).To(And(ContainSubstring("go is required"), ContainSubstring("run: go mod tidy && make generate")))
	})

	It("has exit code 2 for a folder that scaffold did not write", func(ctx SpecContext) {
		r := run(ctx, "fairlead", "scaffold", "update", folder("main.go", "mine"))
		Expect(r).To(And(HaveField("Code", 2), HaveField("Err", ContainSubstring("was not written by fairlead scaffold"))))
	})
})
