//go:build programs

package cli_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("scaffold", func() {
	It("overwrites existing files with --force, and reports its changes", func(ctx SpecContext) {
		if testing.Short() {
			Skip("this spec needs the tools of a project")
		}
		dir := folder("main.go", "mine", "notes.txt", "mine")
		r := scaffoldShop(ctx, dir, "--force", "--chart",
			chartWith(`data: {a: {{ if not .Values.what }}{{ fail "say what" }}{{ end }}b}`))
		Expect(r.Code).To(Equal(0), r.Err)
		Expect(r.Out).To(And(ContainSubstring("go.mod replaces Fairlead with the checkout in "),
			HaveSuffix("next: cd "+dir+" && make test\n")))
		Expect(r.Err).To(And(HavePrefix("warning: "), ContainSubstring("complete config/samples/shop.yaml"),
			ContainSubstring("say what")))
		Expect(os.ReadFile(filepath.Join(dir, "main.go"))).To(ContainSubstring("package main"))
		Expect(os.ReadFile(filepath.Join(dir, "notes.txt"))).To(BeEquivalentTo("mine"))
		Expect(filepath.Join(dir, "api/v1alpha1/zz_generated.deepcopy.go")).To(BeARegularFile())
	}, SpecTimeout(3*time.Minute))
})
