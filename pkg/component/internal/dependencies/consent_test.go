package dependencies

import (
	"slices"
	"testing"
)

func TestConsent(t *testing.T) {
	for _, c := range []struct {
		name          string
		component, on string
		allows        []string
		want          bool
	}{
		{"the same namespace", "web", "db", nil, true},
		{"another namespace that is allowed", "web", "infra/db", []string{"blog", "shop"}, true},
		{"another namespace", "web", "infra/db", []string{"blog"}, false},
		{"a namespace whose name begins with an allowed one", "web", "infra/db", []string{"sho"}, false},
		{"a component that allows nobody, or does not exist", "web", "infra/db", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := consents(named(c.component), named(c.on), c.allows); got != c.want {
				t.Errorf("consents returned %t", got)
			}
		})
	}
}

// Whatever happens to a component in another namespace, a component without its consent neither learns of it nor has an
// effect on it.
func TestAComponentWithoutConsentLearnsNothing(t *testing.T) {
	f := newFixture(t, "web has ->infra/db")
	want := []State{{Edge: Edge{named("infra/db"), DependsOn, true}, Cause: NotAllowed}}
	for _, text := range []string{
		"infra/db", "infra/db ready", "infra/db ready has @blog", "infra/db deleting has", "infra/db ready ->shop/web",
	} {
		f.put(text)
		f.expectWoken()
		f.enter("web")
		if got := f.Follow(named("web"), "web").States; !slices.Equal(got, want) {
			t.Errorf("with %q the states are %+v", text, got)
		}
	}
	expect(t, "infra/db has the holders", f.holdersOf("infra/db", false), nil)
	f.Remove(named("infra/db"), "infra/db")
	f.expectWoken()
}

func TestConsentThatIsWithdrawn(t *testing.T) {
	f := newFixture(t, "web has ->infra/db", "infra/db ready has @shop")
	expect(t, "web waits for", f.waitFor("web"), []string{"infra/db Ready"})
	expect(t, "infra/db has the holders", f.holdersOf("infra/db", false), []string{"web!"})
	f.takeWoken()
	f.put("infra/db ready has deleting")
	f.expectWoken("infra/db", "web")
	expect(t, "infra/db has the holders", f.holdersOf("infra/db", false), nil)
	expect(t, "web waits for", f.waitFor("web"), []string{"infra/db NotAllowed"})
}
