package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// applications are the many small components of the scenarios 4 to 6, which are installed once and shared.
type applications struct {
	installed bool
	outcome   outcome
	workload  workload
}

// installApplications measures the first apply of the applications.
func installApplications(ctx context.Context, b *bench, _ int, _ size) (outcome, error) {
	_, err := b.withApplications(ctx)
	return b.applications.outcome, err
}

// withApplications returns the stage on which the applications are installed.
func (b *bench) withApplications(ctx context.Context) (*stage, error) {
	stage, err := b.onStage(ctx, "applications")
	if err != nil || b.applications.installed {
		return stage, err
	}
	s := b.sizeOf(4)
	p := part{Components: s.components, Dependents: s.dependents}
	w := workload{templates: ofApplication, components: s.components, identities: true}
	if w.namespace, err = stage.newNamespace(ctx); err != nil {
		return nil, err
	}
	if err := stage.welcome(ctx, w); err != nil {
		return nil, err
	}
	m, err := stage.measure(ctx, "4-install", func(ctx context.Context) error { return stage.create(ctx, w) })
	found, _ := stage.components.in(w.namespace)
	p.Extra = map[figure]float64{figNotReady: float64(w.components - countReady(found, 1))}
	if err == nil {
		p.add(m.sample)
		b.say("install %s", m)
	}
	b.applications = applications{installed: err == nil, outcome: outcome{Parts: []part{p}}, workload: w}
	return stage, err
}

// welcome creates a service account for each component, and grants all of them write access to the namespace.
func (s *stage) welcome(ctx context.Context, w workload) error {
	err := s.admin.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "applications"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + w.namespace},
		},
	})
	if err != nil {
		return err
	}
	return parallel(ctx, creators, w.components, func(ctx context.Context, i int) error {
		return s.admin.Create(
			ctx,
			&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: identityName(i)}},
		)
	})
}

// idle measures an operator that has no changes to apply.
func idle(ctx context.Context, b *bench, _ int, s size) (outcome, error) {
	stage, err := b.withApplications(ctx)
	if err != nil {
		return outcome{}, err
	}
	m, err := stage.measure(ctx, "5-idle", func(ctx context.Context) error { return stage.wait(ctx, s.length) })
	if err != nil {
		return outcome{}, err
	}
	p := part{Components: b.sizeOf(4).components}
	p.add(m.sample)
	p.Extra = map[figure]float64{
		figRequests: float64(m.Requests.sum(classCounted, classList, classDiscovery, classSpill, classEvent)),
	}
	return outcome{Parts: []part{p}}, nil
}

// restart measures the start of an operator if no component has changed.
func restart(ctx context.Context, b *bench, _ int, _ size) (outcome, error) {
	stage, err := b.withApplications(ctx)
	if err != nil {
		return outcome{}, err
	}
	p, err := stage.restart(ctx, "6-restart", b.sizeOf(4).components)
	return outcome{Parts: []part{p}}, err
}

// restart stops the operator, starts the next one, and measures the time from this start until the next operator has
// made a pass over every component. The time until the first operator has ended is not included.
func (s *stage) restart(ctx context.Context, name string, components int) (part, error) {
	p := part{Components: components}
	var took time.Duration
	m, err := s.measure(ctx, name, func(ctx context.Context) error {
		if err := s.stopOperator(); err != nil {
			return err
		}
		begin := time.Now()
		if err := s.startOperator(ctx); err != nil {
			return err
		}
		done, err := s.awaitPasses(ctx, components)
		took = done.Sub(begin)
		return err
	})
	if err != nil {
		return p, err
	}
	m.Seconds = took.Seconds()
	p.add(m.sample)
	return p, nil
}

// awaitPasses waits until the operator has made the given number of passes since its start, and makes no more passes.
func (s *stage) awaitPasses(ctx context.Context, passes int) (time.Time, error) {
	var last work
	changed := time.Now()
	for {
		now, err := s.operator.work(ctx)
		busy := err != nil || now != last || now.passes < passes || now.waiting > 0 || now.active > 0
		if busy {
			last, changed = now, time.Now()
		}
		// A pass that waits for a watch to begin is repeated a moment later.
		if time.Since(changed) >= quietTime {
			return changed, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case err := <-s.operator.died:
			return changed, err
		case <-ctx.Done():
			return changed, fmt.Errorf(
				"%w: the operator made %d of %d passes since its start, and %d components are waiting",
				context.Cause(ctx),
				now.passes,
				passes,
				now.waiting,
			)
		}
	}
}
