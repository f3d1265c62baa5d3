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

// What a process may hold more than one that has just started, for the same components: goroutines that end a while
// later, such as those of network connections, and what is remembered of what there was, such as the types that were
// served.
const (
	moreGoroutines = 12
	moreHeap       = 4 * mebibyte
	moreHeapShare  = 0.25
)

// holdings is what the operator's process holds.
type holdings struct {
	goroutines int
	// stacks counts goroutines by where they are.
	stacks  counts
	heap    float64
	watches counts
}

// measure looks at an operator that has nothing to do.
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
		err = violation{unused}
	}
	return h, err
}

// unusedWatches tells the watches on dependents of types that no component has any of, and those that there are too
// many of: two clusters are watched, that of the components and that of the kubeconfig, which is the same one.
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
		if r := (schema.GroupResource{Group: e.APIGroup, Resource: e.Resource}); strings.Contains(e.RequestURI, "labelSelector="+url.QueryEscape(reconciler+"/owner-id")) {
			if watched[r]++; !used[r] || watched[r] > 2 {
				unused = append(unused, "a watch that nobody needs: "+e.RequestURI)
			}
		}
	}
	return unused, nil
}

// watchesOf counts watches by what is watched.
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

// stacksOf reads a profile of goroutines: groups of them, each with a line that counts them, "3 @ 0x1 0x2", and a line
// for each function.
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

// exceededBy tells what the later holdings have too much of.
func (h holdings) exceededBy(later holdings) []string {
	var what []string
	if later.goroutines > h.goroutines+moreGoroutines {
		what = append(what, fmt.Sprintf("%d goroutines were %d before; there are more of:\n    %s",
			later.goroutines, h.goroutines, strings.Join(h.stacks.grown(later.stacks), "\n    ")))
	}
	if later.heap > h.heap*(1+moreHeapShare)+moreHeap {
		what = append(what, fmt.Sprintf("%.1f MiB of live heap were %.1f before", later.heap/mebibyte, h.heap/mebibyte))
	}
	for _, watch := range h.watches.grown(later.watches) {
		what = append(what, "a watch too many: "+watch)
	}
	return what
}
