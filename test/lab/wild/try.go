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
	// kubeVersion is the version of Kubernetes for which charts are rendered, which is that of the dev cluster. The
	// renderings show random values and hooks.
	kubeVersion = "1.36.3"
	// renderTimeout is the maximum duration of a rendering.
	renderTimeout = 30 * time.Second
)

// trial installs charts with both programs, one chart after the other.
type trial struct {
	config
	home           string
	version        string
	helm, fairlead *side
}

// tryAll returns the results of all charts. It returns an error only if the environment fails; the failure of a chart
// is part of its result.
func tryAll(ctx context.Context, c config, charts []chart) ([]result, error) {
	return eachChart(ctx, c, charts, func(t *trial, each chart) (*result, error) { return t.try(ctx, each) })
}

// judged is the result of a chart.
type judged interface {
	// get returns the judgement about the chart.
	get() *judgement
	// line returns the result in one line.
	line() string
}

// eachChart calls try for each chart that has no result yet, and returns the results of all charts.
func eachChart[R any, P interface {
	*R
	judged
}](
	ctx context.Context,
	c config,
	charts []chart,
	try func(t *trial, each chart) (P, error),
) (results []R, err error) {
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
	version, err := exec.CommandContext(ctx, filepath.Join(c.bin, fairleadProgram), "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%w; run 'make build', and this from the project's root", err)
	}
	t.version = strings.TrimSpace(string(version))
	for _, each := range charts {
		r := P(new(R))
		if !t.kept(each, r) {
			if r, err = try(t, each); err != nil {
				return nil, fmt.Errorf("%s: %w", each, err)
			}
			if err := t.keep(each, r); err != nil {
				return nil, err
			}
		}
		fmt.Println(r.line())
		results = append(results, *r)
	}
	return results, nil
}

// file returns the path of the file with the result of a chart.
func (t *trial) file(c chart) string {
	return filepath.Join(t.results, c.name+"-"+c.version+".json")
}

// kept reads the result of an earlier run into r. It returns false if there is no such result, or if the chart is to be
// installed again.
func (t *trial) kept(c chart, r judged) bool {
	text, err := os.ReadFile(t.file(c))
	if err != nil {
		return false
	}
	if err := json.Unmarshal(text, r); err != nil {
		return false // The file is incomplete.
	}
	switch t.again {
	case againAll:
		return false
	case againShort:
		return len(r.get().Short) == 0
	case againUncounted:
		return r.get().Unusable == ""
	}
	return true
}

// keep writes the result of a chart.
func (t *trial) keep(c chart, r judged) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(t.file(c), text, 0o600)
}

// try makes all steps with a chart.
func (t *trial) try(ctx context.Context, c chart) (*result, error) {
	r := &result{judgement: t.judgement(c)}
	of, err := t.prepare(ctx, c, &r.judgement)
	if err != nil {
		r.Unusable = "Helm does not render it: " + err.Error()
		return r, ctx.Err()
	}
	if err := t.both(ctx, c, r, of); err != nil || r.Unusable != "" {
		return r, err
	}
	if err := t.renderAgain(ctx, c, &of); err != nil {
		return r, err
	}
	r.judge(of)
	return r, nil
}

// judgement returns the judgement about a chart before the first step.
func (t *trial) judgement(c chart) judgement {
	return judgement{Chart: c.name, Version: c.version, Program: t.version, Change: c.Change}
}

// renderAgain renders the chart once more, because values that the chart takes from the clock may have changed since
// the installation.
func (t *trial) renderAgain(ctx context.Context, c chart, of *rendering) error {
	for s, first := range of.first {
		again, err := t.template(ctx, c, s)
		if err != nil {
			return err
		}
		of.random = of.random.with(maskOf(first, again))
	}
	return nil
}

// errUnusable ends our steps when Helm does not install the chart.
var errUnusable = errors.New("the chart does not count")

// both makes the steps with both programs at the same time, because the programs wait most of the time.
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

// prepare renders the chart with Helm, finds a value whose change changes the rendering, and writes the values files.
func (t *trial) prepare(ctx context.Context, c chart, r *judgement) (rendering, error) {
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

// isChanged reports whether a rendering differs from the first rendering in a field or object that is not random.
func isChanged(first, changed objects, random mask) bool {
	for key := range changed {
		if _, found := first[key]; !found && random.names[key.kind] == 0 {
			return true
		}
	}
	for key, object := range first {
		other, found := changed[key]
		if !found {
			if random.names[key.kind] == 0 {
				return true
			}
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

// render renders the chart twice, to find its random values.
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

// defaults returns the default values of the chart.
func (t *trial) defaults(ctx context.Context, c chart) (map[string]any, error) {
	output, err := t.output(ctx, "show", "values", c.folder)
	if err != nil {
		return nil, err
	}
	var values map[string]any
	return values, yaml.Unmarshal(output, &values)
}

// output runs Helm and returns its output.
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

// values returns the path of the values file for a step. change is set if the chart contains a value that the upgrade
// changes.
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

// steps makes the steps on one side. After a failed step it makes only the uninstallation. After a failed installation
// with Helm it makes no further step.
func (t *trial) steps(
	ctx context.Context,
	s *side,
	c chart,
	change bool,
	of rendering,
) (outcomes []outcome, err error) {
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
		o, err := s.run(
			ctx,
			c,
			job{step: next, values: t.values(next, change), timeout: t.timeout, hooks: of.hooks, before: before},
		)
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

// furnish creates the namespace of a chart, and installs the charts in its setting Before.
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
