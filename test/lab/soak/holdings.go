package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/test/program"
	"github.com/fairlead-io/fairlead/test/testcluster"
)

const mebibyte = 1 << 20

// These are the tolerances when the resources of the operator's process are compared with those of a newly started
// process with the same components. They cover goroutines that end later, such as those of network connections, and
// state of objects that no longer exist, such as types that were served before.
const (
	moreGoroutines = 12
	moreHeap       = 4 * mebibyte
	moreHeapShare  = 0.25
)

// holdings contains the resources of the operator's process.
type holdings struct {
	goroutines int
	// stacks counts goroutines by their stack.
	stacks  counts
	heap    float64
	watches counts
}

// measure measures an operator that has nothing to do.
func (w *world) measure(ctx context.Context) (holdings, error) {
	text, err := w.operator.goroutines(ctx)
	if err != nil {
		return holdings{}, err
	}
	h := holdings{stacks: stacksOf(text), watches: watchesOf(w.watches)}
	h.goroutines = h.stacks.sum()
	if h.heap, err = program.LiveHeap(ctx, w.operator.profiles); err != nil {
		return h, err
	}
	unused, err := w.unusedWatches(ctx)
	if err == nil && len(unused) > 0 {
		err = program.Violations(unused)
	}
	return h, err
}

// unusedWatches returns the watches on types without dependents, and the watches on a type beyond two. Two watches on a
// type are expected: one for the cluster of the components, and one for the cluster of the kubeconfig, which is the
// same cluster.
func (w *world) unusedWatches(ctx context.Context) ([]string, error) {
	list := &v1alpha1.ComponentList{}
	if err := w.admin.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	used := map[schema.GroupResource]bool{}
	for i := range list.Items {
		entries, err := w.inventoryOf(ctx, &list.Items[i])
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			mapping, err := w.admin.RESTMapper().RESTMapping(schema.GroupKind{Group: e.Group, Kind: e.Kind}, e.Version)
			if err != nil {
				return nil, err
			}
			used[mapping.Resource.GroupResource()] = true
		}
	}
	var unused []string
	watched := map[schema.GroupResource]int{}
	for _, e := range w.watches {
		if r := (schema.GroupResource{Group: e.APIGroup, Resource: e.Resource}); strings.Contains(
			e.RequestURI,
			"labelSelector="+url.QueryEscape(reconciler+"/owner-id"),
		) {
			if watched[r]++; !used[r] || watched[r] > 2 {
				unused = append(unused, "a watch that no component needs: "+e.RequestURI)
			}
		}
	}
	return unused, nil
}

// watchesOf counts watches by path and selector.
func watchesOf(events testcluster.Events) counts {
	c := counts{}
	for _, e := range events {
		path, query, _ := strings.Cut(e.RequestURI, "?")
		for option := range strings.SplitSeq(query, "&") {
			if strings.HasPrefix(option, "labelSelector=") || strings.HasPrefix(option, "fieldSelector=") {
				path += "?" + option
			}
		}
		c[path]++
	}
	return c
}

// stacksOf reads a profile of goroutines. The profile consists of groups. Each group has a line with its number of
// goroutines, such as "3 @ 0x1 0x2", and a line for each function.
func stacksOf(profile string) counts {
	c := counts{}
	for group := range strings.SplitSeq(profile, "\n\n") {
		var number int
		var functions []string
		for line := range strings.Lines(group) {
			if count, _, found := strings.Cut(line, " @ "); found {
				number, _ = strconv.Atoi(count)
			}
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "#" {
				name, _, _ := strings.Cut(fields[2], "+0x")
				functions = append(functions, name)
			}
		}
		if number > 0 {
			c[strings.Join(functions, " < ")] += number
		}
	}
	return c
}

// exceededBy returns the resources that the later process holds beyond the tolerances.
func (h holdings) exceededBy(later holdings) []string {
	var what []string
	if later.goroutines > h.goroutines+moreGoroutines {
		what = append(what, fmt.Sprintf("there are %d goroutines, and there were %d before; these have increased:\n    %s",
			later.goroutines, h.goroutines, strings.Join(h.stacks.grown(later.stacks), "\n    ")))
	}
	if later.heap > h.heap*(1+moreHeapShare)+moreHeap {
		what = append(
			what,
			fmt.Sprintf("the live heap has %.1f MiB, and had %.1f MiB before", later.heap/mebibyte, h.heap/mebibyte),
		)
	}
	for _, watch := range h.watches.grown(later.watches) {
		what = append(what, "an additional watch: "+watch)
	}
	return what
}
