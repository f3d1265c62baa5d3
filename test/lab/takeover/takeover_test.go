package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestOnlyStatusesEventsAndLeasesMayBeWritten(t *testing.T) {
	requests := testcluster.Events{
		{Verb: "get", Resource: "configmaps", RequestURI: "/a"},
		{Verb: "patch", Resource: "components", Subresource: "status", RequestURI: "/b"},
		{Verb: "create", Resource: "events", RequestURI: "/c"},
		{Verb: "update", Resource: "leases", RequestURI: "/d"},
		{Verb: "create", Resource: "selfsubjectaccessreviews", RequestURI: "/e"},
		{Verb: "patch", Resource: "configmaps", RequestURI: "/f", Code: 200},
		{Verb: "patch", Resource: "components", RequestURI: "/g", Code: 200},
	}
	want := []string{"patch /f (200)", "patch /g (200)"}
	if difference := cmp.Diff(want, dependentWrites(requests)); difference != "" {
		t.Error(difference)
	}
}

func TestTheSummaryCountsWrites(t *testing.T) {
	requests := testcluster.Events{
		{Verb: "get", Resource: "configmaps"},
		{Verb: "patch", Resource: "configmaps"},
		{Verb: "patch", Resource: "components", Subresource: "status"},
		{Verb: "patch", Resource: "configmaps"},
	}
	want := "4 requests, of which writes: 1 patch components/status, 2 patch configmaps"
	if got := summary(requests); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEachShapeHasAComponentWithAText(t *testing.T) {
	components, scenery, err := readShapes("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if len(components) < 12 || len(scenery) == 0 {
		t.Errorf("%d components, %d other objects", len(components), len(scenery))
	}
	for _, c := range components {
		spec, _ := c.Object["spec"].(map[string]any)
		values, _ := spec["values"].(map[string]any)
		if values["text"] != "first" || c.GetNamespace() != namespace {
			t.Errorf("component %s/%s has the values %v", c.GetNamespace(), c.GetName(), values)
		}
	}
}
