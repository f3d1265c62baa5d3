package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// repairSeed selects the edited objects. It is the same in every run.
const repairSeed = 1

// repair measures repairs while another client edits and deletes dependents as fast as possible, each dependent at most
// once in a round.
func repair(ctx context.Context, b *bench, number int, s size) (outcome, error) {
	p := part{Components: s.components, Dependents: s.dependents}
	stage, err := b.onStage(ctx, fmt.Sprint(number))
	if err != nil {
		return outcome{}, err
	}
	w := workload{templates: ofTenKinds, components: 1, values: values{Count: s.dependents}}
	if w.namespace, err = stage.newNamespace(ctx); err != nil {
		return outcome{}, err
	}
	if err := stage.create(ctx, w); err != nil {
		return outcome{}, err
	}
	random := rand.New(rand.NewPCG(repairSeed, 0))
	var all []repaired
	for range s.rounds {
		b.awaitTurn()
		floor, _, err := stage.floor(ctx, floorOf(size{components: 1, dependents: s.edits}))
		if err != nil {
			return outcome{}, err
		}
		edits := chooseEdits(random, w.namespace, s)
		m, err := stage.measure(ctx, "8-repair", func(ctx context.Context) error { return stage.vandalise(ctx, edits) })
		if err != nil {
			return outcome{Parts: []part{p}}, err
		}
		b.say("repair %s, floor %s", m, floor)
		p.add(m.sample, floor)
		all = append(all, repairs(m.events)...)
	}
	missing, err := stage.countAsRendered(ctx, w)
	p.Extra = dropUnmeasured(repairFigures(all, s.edits*s.rounds))
	p.Extra[figNotRepaired] += float64(s.dependents - missing)
	return outcome{Parts: []part{p}}, err
}

// edit is a write of another client.
type edit struct {
	resource        schema.GroupVersionResource
	namespace, name string
	deletes         bool
}

// chooseEdits selects different dependents to edit or delete.
func chooseEdits(random *rand.Rand, namespace string, s size) []edit {
	edits := make([]edit, 0, s.edits)
	for _, i := range random.Perm(s.dependents)[:s.edits] {
		edits = append(edits, edit{
			resource:  tenKinds[i%len(tenKinds)],
			namespace: namespace,
			name:      fmt.Sprintf("%s-%d", componentName(0), i/len(tenKinds)),
			deletes:   random.IntN(2) == 0,
		})
	}
	return edits
}

// vandalise makes the edits, and returns when the operator has repaired each of them or the context ends.
func (s *stage) vandalise(ctx context.Context, edits []edit) error {
	before, err := s.cluster.AuditEvents(ctx)
	if err != nil {
		return err
	}
	for _, e := range edits {
		if err := s.vandaliseOne(ctx, e); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, quietTimeout)
	defer cancel()
	for {
		events, err := s.cluster.AuditEvents(ctx)
		if err != nil || len(repairs(events[len(before):])) >= len(edits) {
			return err
		}
		select {
		case <-time.After(glance):
		case <-ctx.Done():
			return nil // The caller counts the edits that were not repaired.
		}
	}
}

func (s *stage) vandaliseOne(ctx context.Context, e edit) error {
	objects := s.foreign.Resource(e.resource).Namespace(e.namespace)
	if e.deletes {
		return objects.Delete(ctx, e.name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)})
	}
	_, err := objects.Patch(
		ctx,
		e.name,
		types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"bench":"edited"}}}`),
		metav1.PatchOptions{},
	)
	return err
}

// countAsRendered counts the existing dependents whose label has the value in the manifest.
func (s *stage) countAsRendered(ctx context.Context, w workload) (int, error) {
	n := 0
	for _, resource := range tenKinds {
		list, err := s.foreign.Resource(
			resource,
		).Namespace(
			w.namespace,
		).List(
			ctx,
			metav1.ListOptions{LabelSelector: "bench=steady"},
		)
		if err != nil {
			return 0, err
		}
		n += len(list.Items)
	}
	return n, nil
}

// repaired is a write of another client that the operator has repaired.
type repaired struct {
	// after is the time from the response to the other client's write to the response to the operator's first successful
	// write.
	after time.Duration
	// writes is the number of the operator's writes to the object since the other client's write.
	writes int
}

// repairs finds the writes of other clients, and the operator's repairs. The events contain one write of another client
// for each object.
func repairs(events testcluster.Events) []repaired {
	type object struct{ group, resource, namespace, name string }
	of := func(e testcluster.Event) object { return object{e.APIGroup, e.Resource, e.Namespace, e.Name} }
	type history struct {
		broken, mended time.Time
		writes         int
	}
	histories := map[object]*history{}
	var order []*history
	for _, e := range events.Writes() {
		if e.Subresource != "" || e.Name == "" {
			continue
		}
		h := histories[of(e)]
		switch {
		case e.UserAgent == foreignAgent:
			h = &history{broken: e.Answered}
			histories[of(e)] = h
			order = append(order, h)
		case h == nil || !isOperators(e):
		default:
			h.writes++
			if e.Code < 300 && h.mended.IsZero() {
				h.mended = e.Answered
			}
		}
	}
	all := make([]repaired, 0, len(order))
	for _, h := range order {
		if !h.mended.IsZero() {
			all = append(all, repaired{after: h.mended.Sub(h.broken), writes: h.writes})
		}
	}
	return all
}

func repairFigures(all []repaired, edits int) map[figure]float64 {
	var milliseconds, writes []float64
	for _, r := range all {
		milliseconds = append(milliseconds, float64(r.after)/float64(time.Millisecond))
		writes = append(writes, float64(r.writes))
	}
	return map[figure]float64{
		figNotRepaired: float64(edits - len(all)),
		figP50:         percentile(milliseconds, 0.5),
		figP99:         percentile(milliseconds, 0.99),
		figPerRepair:   largest(writes),
	}
}
