package componenttest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

func TestListsAreStaleInThreeWays(t *testing.T) {
	cloud := NewCloud()
	kind := ListedThings{Things{cloud}}
	list := func(fault CloudFault) string {
		t.Helper()
		cloud.SetFault(func(CloudCall) CloudFault { return fault })
		found, err := kind.List(t.Context(), external.Account{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(slices.Sorted(maps.Keys(found)))
	}
	cloud.Put(Thing{ID: "a"})
	cloud.Put(Thing{ID: "b"})
	for _, c := range []struct {
		name  string
		fault CloudFault
		want  string
	}{
		{"true", CloudFault{}, "[a b]"},
		{"empty", CloudFault{Stale: true}, "[]"},
		{"partial", CloudFault{Partial: true}, "[b]"},
	} {
		if got := list(c.fault); got != c.want {
			t.Errorf("%s: want %s, got %s", c.name, c.want, got)
		}
	}
	cloud.Remove("a")
	cloud.Put(Thing{ID: "c"})
	if got := list(CloudFault{Earlier: true}); got != "[a b]" {
		t.Errorf("the earlier list is %s", got)
	}
	if got := list(CloudFault{}); got != "[b c]" {
		t.Errorf("the true list is %s", got)
	}
}

func TestOneSeedMakesListsStaleInEachWay(t *testing.T) {
	i := NewInjector(t.Context(), certain(CloudStale))
	met := map[CloudFault]bool{}
	for range 50 {
		met[i.cloudFault(CloudCall{Method: "List"})] = true
	}
	for _, want := range []CloudFault{{Stale: true}, {Partial: true}, {Earlier: true}} {
		if !met[want] {
			t.Errorf("no list meets %+v", want)
		}
	}
}

func TestProcessesCrashInEachMethodOfACloud(t *testing.T) {
	planned := map[string]bool{}
	for seed := range uint64(100) {
		_, calls := Faults{Seed: seed}.withDefaults().crashes("step", 10, true)
		for method := range calls {
			planned[method] = true
		}
	}
	for _, method := range cloudMethods {
		i := NewInjector(t.Context(), none())
		i.begin("step", nil, map[string][]int{method: {2}})
		life := i.revive(t.Context())
		if fault := i.cloudFault(CloudCall{Method: method}); fault != (CloudFault{}) || life.Err() != nil {
			t.Errorf("the first call of %s meets %v", method, fault)
		}
		if fault := i.cloudFault(CloudCall{Method: method}); fault == (CloudFault{}) || life.Err() == nil {
			t.Errorf("the second call of %s does not end the process", method)
		}
		if n := i.cloudCrashCounts()[method]; n != 1 || !planned[method] {
			t.Errorf("%s: %d crashes, planned by a seed: %t", method, n, planned[method])
		}
	}
}

func TestOnlyCreatesThatMayBeRepeatedTakeEffectTwice(t *testing.T) {
	i := NewInjector(t.Context(), certain(CloudTwice))
	for _, call := range []CloudCall{{Method: "Create"}, {Method: "Create", Repeatable: true}} {
		if fault := i.cloudFault(call); fault.Twice != call.Repeatable {
			t.Errorf("%+v meets %+v", call, fault)
		}
	}
}

func TestACreateWithTheTokenOfAnExistingThingIsCounted(t *testing.T) {
	c := NewCloud()
	for i, token := range []string{"a", "b", "", "", "a"} {
		if _, err := c.create(t.Context(), "", token, "value"); err != nil {
			t.Fatal(err)
		}
		if want := i / 4; c.doubles() != want {
			t.Errorf("%d doubles after create %d, want %d", c.doubles(), i, want)
		}
	}
}
