package normalise_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/digests"
)

// settled is a manifest of a ConfigMap with settings and a value.
func settled(name, value, settings string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, annotations: {%s}}, data: "+
		"{value: %q}}\n---\n",
		name, strings.ReplaceAll(settings, "~", "shop.example.com/"), value)
}

func TestAnObjectStandsAtEachOfItsOrders(t *testing.T) {
	objects, err := normalised(t, settled("b", "x", "")+
		settled("a", "x", "~order: '5, -5', ~purge-order: '9,-2', ~phase: 'apply,pre-delete', ~phase-order: '7'"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		purge := "never"
		if o.Settings.PurgeOrder != nil {
			purge = fmt.Sprint(*o.Settings.PurgeOrder)
		}
		got = append(got, fmt.Sprintf("%s %q: number %d, order %d, purged %s", o.Key.Name, o.Settings.Phase, o.Occurrence,
			o.Settings.Order, purge))
		if o.Body.GetAnnotations()["shop.example.com/digest"] != o.Digest {
			t.Errorf("%s: the object has another digest than its manifest", o.Key)
		}
	}
	want := []string{
		`a "": number 0, order -5, purged -2`,
		`b "": number 0, order 0, purged never`,
		`a "": number 1, order 5, purged 9`,
		`a "pre-delete": number 0, order 7, purged never`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
}

func TestTheAliasOfTheOrderMayNameSeveral(t *testing.T) {
	objects, err := normalised(t, settled("a", "x", "~apply-order: '1,2'"))
	if err != nil || len(objects) != 2 || objects[1].Settings.Order != 2 {
		t.Errorf("got %v: %v", objects, err)
	}
}

func TestEachOccurrenceHasItsOwnContent(t *testing.T) {
	digestsOf := func(text string) []string {
		t.Helper()
		objects, err := normalised(t, text)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, o := range objects {
			found = append(found, o.Digest)
		}
		return found
	}
	one := digestsOf(settled("a", "x", "~order: '1,2'"))
	if digests.SameContent(one[0], one[1]) {
		t.Error("two occurrences have digests of equal content")
	}
	if shifted := digestsOf(settled("a", "x", "~order: '3,4'")); !digests.SameContent(one[0], shifted[0]) ||
		!digests.SameContent(one[1], shifted[1]) || one[0] == shifted[0] {
		t.Error("a change of the orders did not change the digest of the settings")
	}
	if other := digestsOf(settled("a", "y", "~order: '1,2'")); digests.SameContent(one[0], other[0]) {
		t.Error("a change of the content did not change the digest")
	}
	two := digestsOf(settled("a", "x", "~order: '-1', ~purge-order: '-1'") + settled("a", "y", ""))
	changed := digestsOf(settled("a", "x", "~order: '-1', ~purge-order: '-1'") + settled("a", "z", ""))
	if digests.SameContent(two[0], changed[0]) {
		t.Error("a change of one occurrence did not change the digest of the other")
	}
	if single := digestsOf(settled("a", "x", "~order: '1'")); digests.SameContent(single[0], one[0]) {
		t.Error("an object with one order and an object with several have the same digest")
	}
}

func TestManifestsOfOneName(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a manifest purged before the next manifest": {settled("a", "x", "~order: '-1', ~purge-order: '-1'") + settled("a",
			"y", ""), ""},
		"a manifest recreated by the next manifest": {settled("a", "x", "~order: '-1'") + settled("a", "y",
			"~update-policy: recreate"), ""},
		"two equal manifests": {settled("a", "x", "~order: '-1'") + settled("a", "x", ""), ""},
		"two manifests at one order": {
			settled("a", "x", "") + settled("a", "y", "~update-policy: recreate"),
			"rendered more than once",
		},
		"an order that a list contains twice": {settled("a", "x", "~order: '1, 1'"), "rendered more than once"},
		"two manifests that contradict each other": {
			settled("a", "x", "~order: '-1'") + settled("a", "y", ""),
			"at order -1 and at order 0",
		},
		"a purge at the next order": {
			settled("a", "x", "~order: '1,3', ~purge-order: '3,5'"),
			"purge-order 3 is not before the next order 3",
		},
		"two manifests in one phase of a deletion": {settled("a", "x", "~phase: pre-delete, ~order: '1'") + settled("a",
			"x", "~phase: pre-delete"), "rendered more than once"},
		"fewer purge orders than orders": {
			settled("a", "x", "~order: '1,3', ~purge-order: '2'"),
			"each order needs a purge order",
		},
		"more purge orders than orders": {
			settled("a", "x", "~order: '1', ~purge-order: '2,3'"),
			"only order, apply-order and purge-order may have several values",
		},
		"an order that is not a number": {settled("a", "x", "~order: '1,x'"), `"x" is not a whole number`},
		"several orders in a phase of the deletion": {
			settled("a", "x", "~order: '1,2', ~phase: 'apply,post-delete'"),
			"only in the phase apply",
		},
		"a purge order before the order": {
			settled("a", "x", "~order: '1,5', ~purge-order: '0,6'"),
			"purged before it is applied",
		},
		"several orders of a namespace": {
			"{apiVersion: v1, kind: Namespace, metadata: {name: a, annotations: {shop.example.com/order: '1,2', " +
				"shop.example.com/purge-order: '1,2'}}}",
			"would delete all objects that it contains",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := normalised(t, c.text)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A short annotation must not multiply the memory that a manifest takes.
func TestCopiesAreBounded(t *testing.T) {
	orders := func(count int) string {
		var list []string
		for i := range count {
			list = append(list, fmt.Sprint(i))
		}
		return "~order: '" + strings.Join(list, ",") + "', ~update-policy: recreate"
	}
	var large strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&large, "{a%d: b}, ", i)
	}
	wide := strings.Replace(settled("a", "x", orders(100)), ", data: {", ", list: ["+large.String()+"], data: {", 1)
	for _, c := range []struct{ name, text, want string }{
		{"as many orders as are allowed", settled("a", "x", orders(100)), ""},
		{
			"too many orders", settled("a", "x", orders(101)),
			"annotation shop.example.com/order: it has 101 values, more than 100",
		},
		{"too many phases", settled("a", "x", "~phase: 'apply,pre-delete,apply,apply'"), "it has 4 values, more than 3"},
		{"too many nodes", wide, "have together more than 1000000 maps, lists, values and keys"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := normalised(t, c.text)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}
