package main

import (
	"maps"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/test/testcluster"
)

func TestRequestsAreSortedIntoThoseThatCount(t *testing.T) {
	for _, c := range []struct {
		name  string
		event testcluster.Event
		want  class
	}{
		{"a write", testcluster.Event{Verb: "patch", Resource: "configmaps", Name: "bench-0000-1"}, classCounted},
		{"a read", testcluster.Event{Verb: "get", Resource: "namespaces", Name: "kube-system"}, classCounted},
		{"a list of the current state", testcluster.Event{
			Verb: "list", Resource: "configmaps",
			RequestURI: "/api/v1/configmaps?labelSelector=a%3Db",
		}, classCounted},
		{"the list that a watch begins with", testcluster.Event{
			Verb: "list", Resource: "configmaps",
			RequestURI: "/api/v1/configmaps?limit=500&resourceVersion=0",
		}, classList},
		{"a watch", testcluster.Event{Verb: "watch", Resource: "configmaps"}, classWatch},
		{
			"a renewal of the Lease",
			testcluster.Event{Verb: "update", Resource: "leases", APIGroup: "coordination.k8s.io"},
			classLease,
		},
		{"discovery", testcluster.Event{Verb: "get", RequestURI: "/apis"}, classDiscovery},
		{"an event", testcluster.Event{Verb: "create", Resource: "events", APIGroup: "events.k8s.io"}, classEvent},
		{
			"a Secret that is a dependent",
			testcluster.Event{Verb: "patch", Resource: "secrets", Name: "bench-0000-1"},
			classCounted,
		},
		{
			"a Secret that is no dependent",
			testcluster.Event{Verb: "create", Resource: "secrets", Name: "inventory-1"},
			classSpill,
		},
		{"a list of records", testcluster.Event{
			Verb: "list", Resource: "secrets",
			RequestURI: "/api/v1/namespaces/shop/secrets?labelSelector=fairlead.io%2Frecord-of%3Dabc",
		}, classSpill},
		{"an access review for Secrets of records", testcluster.Event{
			Verb: "create", Resource: "selfsubjectaccessreviews",
			APIGroup: "authorization.k8s.io",
		}, classSpill},
		{"a list of Secrets", testcluster.Event{Verb: "list", Resource: "secrets"}, classCounted},
	} {
		if got := classify(c.event); got != c.want {
			t.Errorf("request %s: want the class %s, got %s", c.name, c.want, got)
		}
	}
}

func TestOneEventOfEachPassIsFree(t *testing.T) {
	event := testcluster.Event{Verb: "create", Resource: "events", APIGroup: "events.k8s.io"}
	tally := count(testcluster.Events{event, event, event}, 2)
	if got := tally.sum(classCounted); got != 1 {
		t.Errorf("if two passes write three Events, want 1 counted request, got %d", got)
	}
}

func TestTallyTellsWhatWasAsked(t *testing.T) {
	patch := testcluster.Event{Verb: "patch", Resource: "configmaps"}
	tally := count(testcluster.Events{
		patch, patch, patch,
		{Verb: "patch", Resource: "components", Subresource: "status"},
		{Verb: "get", Resource: "configmaps"},
		{Verb: "watch", Resource: "configmaps"},
		{Verb: "watch", Resource: "configmaps"},
		{Verb: "watch", Resource: "secrets"},
	}, 0)
	for _, c := range []struct{ got, want any }{
		{tally.byVerb(), "4 patch, 1 get"},
		{tally.byResource(), "3 patch configmaps, 1 get configmaps, 1 patch components/status"},
		{tally.writes("configmaps"), 3},
		{tally.writes("components/status"), 1},
		{tally.mostOfAKind(classWatch), 2},
		{tally.sum(classCounted, classWatch), 8},
	} {
		if c.got != c.want {
			t.Errorf("want the numbers of requests %v, got %v", c.want, c.got)
		}
	}
}

func TestOtherAgentsAreCountedWithoutTheirVersions(t *testing.T) {
	got := byAgent(testcluster.Events{
		{UserAgent: "kube-controller-manager/v1.36.3 (linux/amd64)", Verb: "get"},
		{UserAgent: "kube-controller-manager/v1.36.3 (linux/amd64)", Verb: "get"},
		{UserAgent: "bench-floor", Verb: "create"},
	})
	if !maps.Equal(got["kube-controller-manager"], map[string]int{"get": 2}) || !maps.Equal(got["bench-floor"],
		map[string]int{"create": 1}) {
		t.Errorf("the requests by user agent are %v", got)
	}
}

func TestTheOperatorIsQuietSinceItsLastRequest(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	events := testcluster.Events{
		{UserAgent: operatorAgent + "/dev", Verb: "patch", Resource: "configmaps", Answered: at(2)},
		{UserAgent: operatorAgent + "/dev", Verb: "get", Resource: "configmaps", Answered: at(1)},
		{UserAgent: operatorAgent + "/dev", Verb: "watch", Resource: "configmaps", Answered: at(3)},
		{
			UserAgent: operatorAgent + "/dev", Verb: "update", Resource: "leases", APIGroup: "coordination.k8s.io",
			Answered: at(4),
		},
		{UserAgent: floorAgent, Verb: "create", Resource: "configmaps", Answered: at(5)},
	}
	if got := lastOfOperator(events); !got.Equal(at(2)) {
		t.Errorf("want the last request of the operator at %s, got %s", at(2), got)
	}
	if got := lastOfOperator(nil); !got.IsZero() {
		t.Errorf("want the zero time if the operator sent no request, got %s", got)
	}
}
