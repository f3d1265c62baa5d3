package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// migrateAll migrates all charts. It returns an error only if the environment fails; the failure of a chart is part of
// its result.
func migrateAll(ctx context.Context, c config, charts []chart) ([]migration, error) {
	commands, err := readMigrationCommands()
	if err != nil {
		return nil, err
	}
	return eachChart(ctx, c, charts, func(t *trial, each chart) (*migration, error) {
		return t.migrate(ctx, each, commands)
	})
}

// migrate makes all steps of a migration with a chart, in the cluster of the side with the operator.
func (t *trial) migrate(ctx context.Context, c chart, commands migrationCommands) (*migration, error) {
	m := &migration{judgement: t.judgement(c), Took: map[step]time.Duration{}}
	if err := t.writeValues(stepInstall, c.Values); err != nil {
		return nil, err
	}
	of, err := t.render(ctx, c, stepInstall)
	if err != nil {
		m.Unusable = "Helm does not render it: " + err.Error()
		return m, ctx.Err()
	}
	if err := t.fairlead.start(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(t.home, "migration-")
	if err != nil {
		return nil, err
	}
	run := &migrationRun{trial: t, side: t.fairlead, chart: c, of: of, result: m, dir: dir}
	if err := run.all(ctx, commands); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return m, t.fairlead.sweep(ctx)
}

// migrationRun is the migration of a chart.
type migrationRun struct {
	*trial

	side   *side
	chart  chart
	of     rendering
	result *migration
	// dir is the folder in which the commands run.
	dir string
	// before are the objects that existed before the installation.
	before objects
}

// all makes the steps until one fails. Then it uninstalls the chart only if it belongs to Helm.
func (r *migrationRun) all(ctx context.Context, commands migrationCommands) (err error) {
	if err := r.furnish(ctx, r.side, r.chart); err != nil {
		r.result.Unusable = err.Error()
		return nil
	}
	if err := r.kubeconfig(); err != nil {
		return err
	}
	if r.before, err = r.side.everything(ctx); err != nil {
		return err
	}
	if failure := r.helm(ctx, stepInstall, "install", r.chart.Release, r.chart.folder); failure != "" {
		r.result.Unusable = failure
		return nil
	}
	installed, err := r.lasting(ctx)
	if err != nil {
		return err
	}
	if err := r.renderAgain(ctx, r.chart, &r.of); err != nil {
		return err
	}
	r.result.Installed = installed.keptIn(installed)
	if !r.script(ctx, stepThere, forChart(commands.there, r.chart)) {
		return nil
	}
	there, err := r.lasting(ctx)
	if err != nil {
		return err
	}
	r.result.There = installed.keptIn(there)
	r.result.judgeKept(stepThere, installed, there, r.of.random)
	if ok, err := r.check(ctx); err != nil || !ok {
		return err
	}
	if ok, err := r.back(ctx, commands); err != nil || !ok {
		return err
	}
	return r.afterwards(ctx, installed, there)
}

// back hands the component over to Helm. Fairlead must run no hook, because it deletes nothing.
func (r *migrationRun) back(ctx context.Context, commands migrationCommands) (ok bool, err error) {
	if _, _, err := r.side.cluster.DrainAudit(ctx); err != nil {
		return false, err
	}
	ok = r.script(ctx, stepBack, forChart(commands.back, r.chart))
	events, _, err := r.side.cluster.DrainAudit(ctx)
	if ran := r.of.hooks.created(events.Where(isOperator)); len(ran) > 0 {
		r.result.shortfall(stepBack, fmt.Sprintf("hooks ran, although nothing is deleted: %s", ran))
	}
	return ok, err
}

// check applies the component once more, as the page does. Nothing may be written.
func (r *migrationRun) check(ctx context.Context) (ok bool, err error) {
	if _, _, err := r.side.cluster.DrainAudit(ctx); err != nil {
		return false, err
	}
	command := fmt.Sprintf("fairlead apply %s %s -f values.yaml --wait", r.chart.Release, r.chart.folder)
	if !r.script(ctx, stepCheck, command) {
		return false, nil
	}
	events, _, err := r.side.cluster.DrainAudit(ctx)
	if writes := len(events.Where(isWrite)); writes > 0 {
		r.result.shortfall(stepCheck, fmt.Sprintf("%d writes to objects of the chart, although nothing changed", writes))
	}
	return true, err
}

// afterwards upgrades and uninstalls the chart with Helm, and judges what is in the cluster.
func (r *migrationRun) afterwards(ctx context.Context, installed, there objects) error {
	failure := r.helm(ctx, stepUpgrade, "upgrade", r.chart.Release, r.chart.folder)
	back, err := r.lasting(ctx)
	if err != nil {
		return err
	}
	if failure != "" {
		r.result.shortfall(stepUpgrade, failure)
		return nil
	}
	r.result.Back = installed.keptIn(back)
	r.result.judgeKept(stepBack, there, back, r.of.random)
	r.result.judgeTraces(stepBack, back)
	if failure := r.helm(ctx, stepUninstall, "uninstall", r.chart.Release); failure != "" {
		r.result.shortfall(stepUninstall, failure)
		return nil
	}
	left, err := r.side.settled(ctx)
	if err != nil {
		return err
	}
	for _, key := range sortedIDs(left.without(r.before)) {
		r.judgeLeft(key, left)
	}
	return nil
}

// judgeLeft judges an object that exists after the uninstallation. Helm leaves claims, hooks, definitions and objects
// with the policy keep.
func (r *migrationRun) judgeLeft(key id, left objects) {
	_, kept := left[key].GetAnnotations()["helm.sh/resource-policy"]
	switch {
	case kept, key.kind == "PersistentVolumeClaim", key.kind == "CustomResourceDefinition", r.of.hooks.has(key):
		return
	case metav1.GetControllerOf(left[key]) != nil, r.of.random.names[key.kind] > 0:
		return
	}
	r.result.shortfall(stepUninstall, key.String()+": left behind")
}

// lasting returns the objects of the chart that must keep their UIDs. It waits until no object disappears any more.
func (r *migrationRun) lasting(ctx context.Context) (objects, error) {
	if _, err := r.side.settled(ctx); err != nil {
		return nil, err
	}
	all, err := r.side.everything(ctx)
	if err != nil {
		return nil, err
	}
	return all.without(r.before).ofChart().lasting(r.of.hooks), ctx.Err()
}

// helm runs Helm with the values of the chart.
func (r *migrationRun) helm(ctx context.Context, s step, arguments ...string) (failure string) {
	arguments = append(arguments, "--namespace", r.chart.Namespace, "--wait", "--timeout", r.timeout.String(),
		"--kubeconfig", r.side.cluster.Kubeconfig())
	if s != stepUninstall {
		arguments = append(arguments, "--values", r.values(stepInstall, false))
	}
	began := time.Now()
	defer func() { r.result.Took[s] = time.Since(began) }()
	return execute(ctx, filepath.Join(r.bin, helmProgram), arguments, r.home, r.timeout)
}

// script runs commands of the page. It reports whether they succeeded; a failure is a shortfall.
func (r *migrationRun) script(ctx context.Context, s step, commands string) bool {
	began := time.Now()
	bin, err := filepath.Abs(r.bin)
	if err != nil {
		r.result.shortfall(s, err.Error())
		return false
	}
	// The shell is trusted with the commands of the page, which are part of the project.
	failure := executeIn(ctx, "bash", []string{"-ec", commands}, environment{
		dir:       r.dir,
		variables: []string{"HOME=" + r.home, "PATH=" + bin + ":" + os.Getenv("PATH"), "KUBECONFIG=" + filepath.Join(r.dir, "kubeconfig")},
	}, r.timeout)
	r.result.Took[s] = time.Since(began)
	if cause := r.side.ended.Load(); cause != nil {
		failure = strings.TrimSpace((*cause).Error() + "\n" + failure)
	}
	if failure != "" {
		r.result.shortfall(s, failure)
	}
	return failure == ""
}

// kubeconfig writes a kubeconfig whose default namespace is that of the chart.
func (r *migrationRun) kubeconfig() error {
	content, err := clientcmd.LoadFromFile(r.side.cluster.Kubeconfig())
	if err != nil {
		return err
	}
	for _, each := range content.Contexts {
		each.Namespace = r.chart.Namespace
	}
	return clientcmd.WriteToFile(*content, filepath.Join(r.dir, "kubeconfig"))
}
