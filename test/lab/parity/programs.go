package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// These are the name and the namespace of the rendered release.
const (
	releaseName = "parity"
	namespace   = "parity-ns"
)

// programs runs Fairlead and its rivals.
type programs struct {
	bin, home, kubeVersion string
}

// output contains the rendered objects of a program, or its error.
type output struct {
	objects []object
	failure string
}

// compare renders a case with the rival, with Fairlead, and with the rival again.
func (p programs) compare(ctx context.Context, c testCase) result {
	before := p.rival(ctx, c)
	ours := p.fairlead(ctx, c)
	after := p.rival(ctx, c)
	return result{testCase: c, verdict: judge(before, ours, after)}
}

func (p programs) rival(ctx context.Context, c testCase) output {
	if c.rival == rivalKustomize {
		return p.run(ctx, "kustomize", "build", c.folder())
	}
	args := []string{
		"template",
		releaseName,
		c.folder(),
		"--namespace",
		namespace,
		"--kube-version",
		p.kubeVersion,
		"--include-crds",
	}
	if c.values != "" {
		args = append(args, "--values", c.values)
	}
	if c.upgrade {
		args = append(args, "--is-upgrade")
	}
	return p.run(ctx, "helm", args...)
}

func (p programs) fairlead(ctx context.Context, c testCase) output {
	args := []string{
		"render", c.source, "--path", c.path, "--raw", "--include-crds",
		"--name", releaseName, "--namespace", namespace, "--kube-version", p.kubeVersion,
	}
	if c.values != "" {
		args = append(args, "--values", c.values)
	}
	if c.upgrade {
		args = append(args, "--is-upgrade")
	}
	return p.run(ctx, "fairlead", args...)
}

// run runs a program with an empty home folder, so that no personal configuration has an effect.
func (p programs) run(ctx context.Context, name string, args ...string) output {
	program, err := filepath.Abs(filepath.Join(p.bin, name))
	if err != nil {
		return output{failure: err.Error()}
	}
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return output{failure: fmt.Sprintf("%s: %v: %s", name, err, strings.TrimSpace(complaints.String()))}
	}
	objects, err := parse(out.Bytes())
	if err != nil {
		return output{failure: fmt.Sprintf("%s: invalid output: %v", name, err)}
	}
	return output{objects: objects}
}
