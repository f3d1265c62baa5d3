package settingtext_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestDependencies(t *testing.T) {
	db := manifests.Key{Group: "apps", Kind: "StatefulSet", Name: "db"}
	for _, c := range []struct {
		name, text string
		want       []manifests.Dependency
	}{
		{"an object of the own namespace", "StatefulSet.apps db", []manifests.Dependency{{Key: db}}},
		{
			"an object of another namespace", "Job.batch shop/migrate",
			[]manifests.Dependency{{Key: manifests.Key{Group: "batch", Kind: "Job", Namespace: "shop", Name: "migrate"}}},
		},
		{"an object of the core group", "Secret a", []manifests.Dependency{{Key: manifests.Key{Kind: "Secret", Name: "a"}}}},
		{"an optional object", "StatefulSet.apps db?", []manifests.Dependency{{Key: db, Optional: true}}},
		{"a group", "@schema", []manifests.Dependency{{Group: "schema"}}},
		{"an optional group", "@schema ?", []manifests.Dependency{{Group: "schema", Optional: true}}},
		{
			"several elements with blanks and lines", " StatefulSet.apps   db ,\n@schema\n",
			[]manifests.Dependency{{Key: db}, {Group: "schema"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := settingtext.ParseDependencies(c.text)
			if err != nil || cmp.Diff(c.want, got) != "" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestDependencyErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an empty list", "", "at character 1: an element is empty; want an object such as StatefulSet.apps db"},
		{"an empty element", "Secret a, , Secret b", "at character 11: an element is empty"},
		{"a comma at the end", "Secret a,", "at character 10: an element is empty"},
		{"a name without a kind", "Secret a,  db", `at character 12: "db" is neither an object, such as`},
		{"a kind without a name", "Secret ", `at character 1: "Secret" is neither`},
		{"three words", "Secret a b", `at character 1: "Secret a b" is neither`},
		{"two slashes", "Secret a/b/c", `at character 1: "Secret a/b/c" is neither`},
		{"an API version", "apps/v1 Deployment/web", `at character 1: "apps/v1 Deployment/web" is neither`},
		{"a group without a name", "@", `at character 1: "" is not the name of a group`},
		{"a group in upper case", "@Schema", `at character 1: "Schema" is not the name of a group: want lower case`},
		{"two question marks", "@a??", `at character 1: "a?" is not the name of a group`},
		{"a position behind other scripts", "Secret ä, x", `at character 11: "x" is neither`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := settingtext.ParseDependencies(c.text); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestGraphSettings(t *testing.T) {
	settings, err := settingtext.Parse(reconciler, prefixed(map[string]string{
		"depends-on": "Secret a, @b?", "depends-on-group": "c", "depends-on-timeout": "5m",
	}))
	want := &manifests.GraphSettings{
		DependsOn: []manifests.Dependency{{Key: manifests.Key{Kind: "Secret", Name: "a"}}, {Group: "b", Optional: true}},
		List:      "Secret a, @b?", Group: "c", Timeout: 5 * time.Minute,
	}
	if err != nil || cmp.Diff(want, settings.Graph) != "" {
		t.Errorf("got %+v, %v", settings.Graph, err)
	}
}

func TestGraphSettingsErrors(t *testing.T) {
	contradicts := func(names string) string {
		return "annotation shop.example.com/depends-on: contradicts " + names +
			", because an object that depends on others " +
			"belongs to no wave; remove one of them"
	}
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        string
	}{
		{"an order", map[string]string{"depends-on": "Secret a", "order": "0"}, contradicts("order")},
		{
			"two settings of waves",
			map[string]string{"depends-on": "Secret a", "apply-order": "0", "delete-order": "3"},
			contradicts("apply-order, delete-order"),
		},
		{"a purge order", map[string]string{"depends-on": "Secret a", "purge-order": "3"}, contradicts("purge-order")},
		{"a phase", map[string]string{"depends-on": "Secret a", "phase": "pre-delete"}, contradicts("phase")},
		{
			"a timeout alone",
			map[string]string{"depends-on-timeout": "3m"},
			"annotation shop.example.com/depends-on-timeout: has no effect without depends-on; remove it",
		},
		{
			"a timeout without a unit",
			map[string]string{"depends-on": "Secret a", "depends-on-timeout": "3"},
			`annotation shop.example.com/depends-on-timeout: "3" is neither a duration such as 30m nor 0, which disables it`,
		},
		{
			"a group with a blank",
			map[string]string{"depends-on-group": "a b"},
			`annotation shop.example.com/depends-on-group: "a b" is not the name of a group: want lower case letters, ` +
				"digits, '-' and '.', such as schema",
		},
		{
			"too many elements",
			map[string]string{"depends-on": strings.Repeat("Secret a, ", 100) + "Secret b"},
			"annotation shop.example.com/depends-on: it has 101 elements, more than 100; put the objects into a group, and " +
				"name the group",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := settingtext.Parse(reconciler, prefixed(c.annotations)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

// The text of parsed dependencies must parse to the same dependencies.
func FuzzDependencies(f *testing.F) {
	for _, seed := range []string{"StatefulSet.apps db, @schema, Job.batch x?", "@a ?,Secret b/c", "", ",", "Secret ä ?"} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		parsed, err := settingtext.ParseDependencies(text)
		if err != nil {
			return
		}
		again, err := settingtext.ParseDependencies(settingtext.JoinDependencies(parsed))
		if err != nil || !slices.Equal(parsed, again) {
			t.Errorf("%q is parsed as %v, and its text as %v: %v", text, parsed, again, err)
		}
	})
}
