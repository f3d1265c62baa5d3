package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	// kubeVersion is what charts are rendered for to find random values and hooks: the version of the dev cluster.
	kubeVersion = "1.36.3"
	// renderTimeout bounds a rendering.
	renderTimeout = 30 * time.Second
)

// trial tries charts one after the other.
type trial struct {
	config
	home           string
	version        string
	helm, fairlead *side
}

// tryAll returns the results of all charts. The error is one of the environment, not of a chart.
func tryAll(ctx context.Context, c config, charts []chart) (results []result, err error) {
	// Only the dev cluster has nodes.
	if err := os.Unsetenv("KUBEBUILDER_ASSETS"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.results, 0o750); err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "wild-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	t := &trial{
		config: c, home: home,
		helm: &side{tool: helmTool, bin: c.bin, home: home}, fairlead: &side{tool: fairleadTool, bin: c.bin, home: home},
	}
	defer func() { err = errors.Join(err, t.helm.stop(), t.fairlead.stop()) }()
	version, err := exec.CommandContext(ctx, filepath.Join(c.bin, fairleadProgram), "version").Output()
	if err != nil {
		return nil, fmt.Errorf("%w; run 'make build', and this from the project's root", err)
	}
	t.version = strings.TrimSpace(string(version))
	for _, each := range charts {
		r, found := t.kept(each)
		if !found {
			if r, err = t.try(ctx, each); err != nil {
				return nil, fmt.Errorf("%s: %w", each, err)
			}
			if err := t.keep(each, r); err != nil {
				return nil, err
			}
		}
		fmt.Println(r.line())
		results = append(results, r)
	}
	return results, nil
}

// file is that of the result of a chart.
func (t *trial) file(c chart) string {
	return filepath.Join(t.results, c.name+"-"+c.version+".json")
}

// kept returns the result of an earlier run, unless the chart is to be tried again.
func (t *trial) kept(c chart) (result, bool) {
	text, err := os.ReadFile(t.file(c))
	if err != nil {
		return result{}, false
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		return result{}, false // Not written to its end.
	}
	switch t.again {
	case againAll:
		return r, false
	case againShort:
		return r, len(r.Short) == 0
	case againUncounted:
		return r, r.Unusable == ""
	}
	return r, true
}

// keep writes the result of a chart.
func (t *trial) keep(c chart, r result) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(t.file(c), text, 0o600)
}

// try does all steps with a chart.
func (t *trial) try(ctx context.Context, c chart) (result, error) {
	r := result{Chart: c.name, Version: c.version, Program: t.version, Change: c.Change}
	of, err := t.prepare(ctx, c, &r)
	if err != nil {
		r.Unusable = "Helm does not render it: " + err.Error()
		return r, ctx.Err()
	}
	if err := t.both(ctx, c, &r, of); err != nil || r.Unusable != "" {
		return r, err
	}
	// What a chart takes from the clock may have changed since it was installed.
	for s, first := range of.first {
		again, err := t.template(ctx, c, s)
		if err != nil {
			return r, err
		}
		of.random = of.random.with(maskOf(first, again))
	}
	r.judge(of)
	return r, nil
}

// errUnusable ends our steps when Helm does not install the chart.
var errUnusable = errors.New("the chart does not count")

// both does the steps with both programs at the same time, because most of the time is waiting.
func (t *trial) both(ctx context.Context, c chart, r *result, of rendering) error {
	if err := errors.Join(t.helm.start(ctx), t.fairlead.start(ctx)); err != nil {
		return err
	}
	counted, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		group                sync.WaitGroup
		helmErr, fairleadErr error
	)
	group.Go(func() {
		r.Helm, helmErr = t.steps(ctx, t.helm, c, r.Change != nil, of)
		if len(r.Helm) > 0 && r.Helm[0].Failure != "" {
			cancel(errUnusable)
		}
	})
	group.Go(func() { r.Fairlead, fairleadErr = t.steps(counted, t.fairlead, c, r.Change != nil, of) })
	group.Wait()
	if err := errors.Join(helmErr, t.helm.sweep(ctx), t.fairlead.sweep(ctx)); err != nil {
		return err
	}
	if errors.Is(context.Cause(counted), errUnusable) {
		r.Unusable, r.Fairlead = r.Helm[0].Failure, nil
		return nil
	}
	return fairleadErr
}

// prepare renders the chart by Helm, finds a value to change, and writes the files of values.
func (t *trial) prepare(ctx context.Context, c chart, r *result) (rendering, error) {
	if err := t.writeValues(stepInstall, c.Values); err != nil {
		return rendering{}, err
	}
	of, err := t.render(ctx, c, stepInstall)
	if err != nil {
		return rendering{}, err
	}
	candidates := []map[string]any{c.Change}
	if c.Change == nil {
		defaults, err := t.defaults(ctx, c)
		if err != nil {
			return rendering{}, err
		}
		candidates = changes(merged(defaults, c.Values))
	}
	for _, change := range candidates {
		if err := t.writeValues(stepUpgrade, merged(c.Values, change)); err != nil {
			return rendering{}, err
		}
		changed, err := t.template(ctx, c, stepUpgrade)
		if err != nil || !isChanged(of.first[stepInstall], changed, of.random) {
			continue
		}
		after, err := t.render(ctx, c, stepUpgrade)
		if err != nil {
			return rendering{}, err
		}
		r.Change = change
		of.first[stepUpgrade], of.random = after.first[stepUpgrade], of.random.with(after.random)
		for hook := range after.hooks {
			of.hooks[hook] = true
		}
		return of, nil
	}
	r.Change = nil
	r.note(stepUpgrade, "no value was found that changes the rendering")
	return of, nil
}

// isChanged reports whether a rendering differs from another by more than random values.
func isChanged(first, changed objects, random mask) bool {
	for key, object := range first {
		other, found := changed[key]
		if !found {
			continue
		}
		for _, d := range differences(object.Object, other.Object) {
			if !random.hides(key, d.path) {
				return true
			}
		}
	}
	return false
}

// render renders the chart twice, to see what is random.
func (t *trial) render(ctx context.Context, c chart, s step) (rendering, error) {
	first, err := t.template(ctx, c, s)
	if err != nil {
		return rendering{}, err
	}
	second, err := t.template(ctx, c, s)
	return rendering{first: map[step]objects{s: first}, random: maskOf(first, second), hooks: hooksOf(first)}, err
}

func (t *trial) template(ctx context.Context, c chart, s step) (objects, error) {
	output, err := t.output(ctx, "template", c.Release, c.folder, "--namespace", c.Namespace,
		"--values", t.values(s, true), "--kube-version", kubeVersion, "--include-crds", "--skip-tests")
	if err != nil {
		return nil, err
	}
	return parse(output)
}

// defaults returns the values of the chart itself.
func (t *trial) defaults(ctx context.Context, c chart) (map[string]any, error) {
	output, err := t.output(ctx, "show", "values", c.folder)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, yaml.Unmarshal(output, &values)
}

// output returns what Helm prints.
func (t *trial) output(ctx context.Context, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, renderTimeout)
	defer cancel()
	var complaints bytes.Buffer
	command := exec.CommandContext(ctx, filepath.Join(t.bin, helmProgram), arguments...)
	command.Env = []string{"HOME=" + t.home, "PATH=" + os.Getenv("PATH")}
	command.Stderr = &complaints
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaints.String()))
	}
	return output, nil
}

// values is the file of the values of a step, for a chart with or without a value to change.
func (t *trial) values(s step, change bool) string {
	if change && s.changed() {
		return filepath.Join(t.home, "changed.yaml")
	}
	return filepath.Join(t.home, "values.yaml")
}

func (t *trial) writeValues(s step, values map[string]any) error {
	if values == nil {
		values = map[string]any{}
	}
	text, err := yaml.Marshal(values)
	if err != nil {
		return err
	}
	return os.WriteFile(t.values(s, true), text, 0o600)
}

// steps does the steps on one side. After a failure only the uninstallation follows; after a failed installation by
// Helm nothing does.
func (t *trial) steps(ctx context.Context, s *side, c chart, change bool, of rendering) (outcomes []outcome, err error) {
	if err := t.furnish(ctx, s, c); err != nil {
		return []outcome{{Step: stepInstall, Failure: err.Error()}}, ctx.Err()
	}
	before, err := s.objects(ctx)
	if err != nil {
		return nil, err
	}
	failed := false
	for _, next := range allSteps {
		if next.needsChange() && !change || failed && next != stepUninstall {
			continue
		}
		o, err := s.run(ctx, c, job{step: next, values: t.values(next, change), timeout: t.timeout, hooks: of.hooks, before: before})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, o)
		failed = o.Failure != ""
		if failed && next == stepInstall && !s.hasOperator {
			return outcomes, nil
		}
	}
	return outcomes, nil
}

// furnish makes the namespace, and installs the charts that this one needs.
func (t *trial) furnish(ctx context.Context, s *side, c chart) error {
	if err := s.createNamespace(ctx, c.Namespace); err != nil {
		return err
	}
	for _, folder := range c.Before {
		needed, err := readChart(filepath.Join(c.folder, folder), t.settings)
		if err != nil {
			return err
		}
		values, err := yaml.Marshal(needed.Values)
		if err != nil {
			return err
		}
		file := filepath.Join(t.home, "before-"+s.program+".yaml")
		if err := os.WriteFile(file, values, 0o600); err != nil {
			return err
		}
		failure := execute(ctx, filepath.Join(t.bin, helmProgram), []string{
			"install", needed.Release, needed.folder, "--namespace", c.Namespace, "--wait", "--timeout", t.timeout.String(),
			"--values", file, "--kubeconfig", s.cluster.Kubeconfig(),
		}, t.home, t.timeout)
		if failure != "" {
			return fmt.Errorf("the chart %s, which this one needs: %s", needed, failure)
		}
	}
	return nil
}
