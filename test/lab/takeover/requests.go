package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

// operatorAgent is the prefix of the user agent of the operator's requests.
const operatorAgent = "fairlead-operator"

// dependentWrites returns the writes of an operator that are no part of taking over: all except those of statuses of
// components, Events and Leases.
func dependentWrites(requests testcluster.Events) []string {
	var written []string
	for _, e := range requests.Writes() {
		switch {
		case e.Resource == "components" && e.Subresource == "status",
			e.Resource == "events", e.Resource == "leases",
			strings.HasSuffix(e.Resource, "accessreviews"):
		default:
			written = append(written, fmt.Sprintf("%s %s (%d)", e.Verb, e.RequestURI, e.Code))
		}
	}
	return written
}

// summary counts requests by verb and resource.
func summary(requests testcluster.Events) string {
	counts := map[string]int{}
	for _, e := range requests.Writes() {
		name := e.Verb + " " + e.Resource
		if e.Subresource != "" {
			name += "/" + e.Subresource
		}
		counts[name]++
	}
	var parts []string
	for name, count := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", count, name))
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		parts = []string{"none"}
	}
	return fmt.Sprintf("%d requests, of which writes: %s", len(requests), strings.Join(parts, ", "))
}
