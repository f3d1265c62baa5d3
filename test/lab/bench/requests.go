package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// ownPrefix is the prefix of the names of all components and dependents of the benchmark.
const ownPrefix = "bench-"

// class is the reason why a request of the operator counts against budgets or not.
type class string

const (
	classCounted   class = "counted"
	classLease     class = "lease"
	classWatch     class = "watch"
	classList      class = "list of a watch"
	classDiscovery class = "discovery"
	classSpill     class = "spill-over Secret"
	classEvent     class = "event of a pass"
)

// tally counts requests by class, and in each class by verb and resource, such as "patch configmaps".
type tally map[class]map[string]int

// count assigns the operator's requests to classes. One event for each pass is not counted; further events are.
func count(events testcluster.Events, passes int) tally {
	t := tally{}
	free := passes
	for _, event := range events {
		c := classify(event)
		if c == classEvent {
			free--
			if free < 0 {
				c = classCounted
			}
		}
		if t[c] == nil {
			t[c] = map[string]int{}
		}
		t[c][describe(event)]++
	}
	return t
}

func classify(event testcluster.Event) class {
	switch {
	case event.Resource == "":
		return classDiscovery
	case event.Resource == "leases" && event.APIGroup == "coordination.k8s.io":
		return classLease
	case event.Verb == "watch":
		return classWatch
	case event.Verb == "list" && isListOfWatch(event):
		return classList
	case event.Resource == "events":
		return classEvent
	case event.Resource == "secrets" && isOfRecords(event), event.Resource == "selfsubjectaccessreviews":
		// The operator uses this review to find out whether it may add finalizers to the Secrets of records.
		return classSpill
	}
	return classCounted
}

// isOfRecords reports whether a request is for Secrets in which the operator stores records.
func isOfRecords(event testcluster.Event) bool {
	if event.Name != "" {
		return !strings.HasPrefix(event.Name, ownPrefix)
	}
	return event.Verb == "list" && isListOfRecords(event)
}

// isListOfWatch reports whether a list is the beginning of a watch. Such a list sets a resource version; a list of the
// current state does not.
func isListOfWatch(event testcluster.Event) bool {
	return strings.Contains(event.RequestURI, "resourceVersion=")
}

// isListOfRecords reports whether a request lists the Secrets with records of a component.
func isListOfRecords(event testcluster.Event) bool {
	return strings.Contains(event.RequestURI, "record-of")
}

func describe(event testcluster.Event) string {
	resource := event.Resource
	if event.Subresource != "" {
		resource += "/" + event.Subresource
	}
	return strings.TrimSuffix(event.Verb+" "+resource, " ")
}

// sum returns the number of requests in the given classes.
func (t tally) sum(classes ...class) int {
	total := 0
	for _, c := range classes {
		for _, n := range t[c] {
			total += n
		}
	}
	return total
}

// mostOfAKind returns the number of requests of a class for the resource that has the most of them.
func (t tally) mostOfAKind(c class) int {
	most := 0
	for _, n := range t[c] {
		most = max(most, n)
	}
	return most
}

// byVerb lists the counted requests of each verb, the most frequent first, such as "1000 patch, 2 get".
func (t tally) byVerb() string {
	verbs := map[string]int{}
	for request, n := range t[classCounted] {
		verb, _, _ := strings.Cut(request, " ")
		verbs[verb] += n
	}
	return byFrequency(verbs)
}

// byResource is byVerb with resources, such as "1000 patch configmaps, 2 patch components/status".
func (t tally) byResource() string { return byFrequency(t[classCounted]) }

func byFrequency(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	parts := make([]string, 0, len(names))
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

// byAgent counts all requests by verb and by user agent, without the version and platform of the agent.
func byAgent(events testcluster.Events) map[string]map[string]int {
	agents := map[string]map[string]int{}
	for _, event := range events {
		agent, _, _ := strings.Cut(event.UserAgent, "/")
		if agents[agent] == nil {
			agents[agent] = map[string]int{}
		}
		agents[agent][event.Verb]++
	}
	return agents
}
