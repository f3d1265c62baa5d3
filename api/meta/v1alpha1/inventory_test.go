package v1alpha1

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

const typical = "apps/v1/Deployment/production/checkout-api u=8f0c1f0e-6f0a-4f7e-9b53-2d5f0d0a3c11 " +
	"d=5b0e8c1d2f3a4b5c " +
	"f=91aa0c1d2e3f4a5b o=1"

func TestInventoryEntry(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry InventoryEntry
		text  string
	}{
		{"a typical Deployment", InventoryEntry{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "production", Name: "checkout-api",
			UID: "8f0c1f0e-6f0a-4f7e-9b53-2d5f0d0a3c11", Digest: "5b0e8c1d2f3a4b5c", Fields: "91aa0c1d2e3f4a5b", Order: 1,
		}, typical},
		{
			"no group, no namespace, never written",
			InventoryEntry{Version: "v1", Kind: "Namespace", Name: "shop"},
			"/v1/Namespace//shop",
		},
		{"all fields", InventoryEntry{
			Version: "v1", Kind: "K", Namespace: "ns", Name: "n", UID: "u", Digest: "d", Fields: "f", Values: "v", Order: -2,
			DeleteOrder:  new(3),
			UpdatePolicy: UpdateReplace, DeletePolicy: DeleteOrphan, Completed: true, Phase: "pre-delete",
			Types: []string{"A.example.com", "*.b.example.com"},
		}, "/v1/K/ns/n u=u d=d f=f v=v o=-2 x=3 up=replace dp=orphan c=true ph=pre-delete t=A.example.com,*.b.example.com"},
		{
			"the first of several occurrences",
			InventoryEntry{Version: "v1", Kind: "K", Name: "n", Occurrence: 1, Types: []string{"A.g"}},
			"/v1/K//n !oc@v0.1=1 t=A.g",
		},
		{
			"an object that failed and was deleted",
			InventoryEntry{Version: "v1", Kind: "K", Name: "n", Failed: "no, 2 = 1"},
			"/v1/K//n !fd@v0.1=no%2C%202%20=%201",
		},
		{
			"an object that depends on others, and belongs to a group",
			InventoryEntry{
				Version: "v1", Kind: "K", Name: "n", DependsOn: "Job.batch a, @b?", DependencyGroup: "c",
				HeldSince: "5/2",
			},
			"/v1/K//n !on@v0.1=Job.batch%20a%2C%20@b%3F og=c hs=5%2F2",
		},
		{
			"an external that was created and deleted, and is being created again",
			InventoryEntry{
				Group: "external.fairlead.io", Version: "v1", Kind: "Schema", Name: "n", UID: "t1", External: true, Begun: true,
				CreationToken: "t2",
			},
			"external.fairlead.io/v1/Schema//n u=t1 !ex@v0.1=begun ct=t2",
		},
		{
			"an object with fields that cannot change",
			InventoryEntry{Version: "v1", Kind: "K", Name: "n", Completed: true, Immutable: 0x5b0e8c},
			"/v1/K//n c=true im=5b0e8c",
		},
		{
			"an object with a field that admission changed",
			InventoryEntry{Version: "v1", Kind: "K", Name: "n", Unserved: "x", Overridden: "spec.replicas is 7 instead of 2"},
			"/v1/K//n un=x ov=spec.replicas%20is%207%20instead%20of%202",
		},
		{
			"an object that its condition leaves out",
			InventoryEntry{Version: "v1", Kind: "K", Name: "n", UID: "u", Guarded: true, LeftOut: true, Phase: "p"},
			"/v1/K//n u=u gd=true lo=true ph=p",
		},
		{"a delete order of zero", InventoryEntry{Version: "v1", Kind: "K", Name: "n", DeleteOrder: new(0)}, "/v1/K//n x=0"},
		{"the colons of a role", InventoryEntry{
			Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole",
			Name: "system:node",
		}, "rbac.authorization.k8s.io/v1/ClusterRole//system:node"},
		{"a space in a name", InventoryEntry{Version: "v1", Kind: "K", Name: "a b=c"}, "/v1/K//a%20b=c"},
		{"a percent sign in a name", InventoryEntry{Version: "v1", Kind: "K", Name: "100%25"}, "/v1/K//100%2525"},
		{"a slash in a name", InventoryEntry{Version: "v1", Kind: "K", Name: "a/b"}, "/v1/K//a%2Fb"},
		{"a line break in a name", InventoryEntry{Version: "v1", Kind: "K", Name: "a\nb"}, "/v1/K//a%0Ab"},
		{"letters of other scripts", InventoryEntry{Version: "v1", Kind: "K", Name: "ü\u2003x"}, "/v1/K//%C3%BC%E2%80%83x"},
		{"a kind with a space", InventoryEntry{Version: "v1", Kind: "My Kind", Name: "n"}, "/v1/My%20Kind//n"},
		{"types with spaces and commas", InventoryEntry{
			Version: "v1", Kind: "K", Name: "n",
			Types: []string{"My Kind.g", "a,b.g"},
		}, "/v1/K//n t=My%20Kind.g,a%2Cb.g"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.entry.String(); got != c.text {
				t.Errorf("got  %s\nwant %s", got, c.text)
			}
			got, err := ParseInventoryEntry(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.entry, got, cmp.AllowUnexported(InventoryEntry{}), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("a typical entry has about 110 bytes", func(t *testing.T) {
		if len(typical) > 125 {
			t.Errorf("got %d bytes", len(typical))
		}
	})
	t.Run("fields of a newer version are kept", func(t *testing.T) {
		const text = "/v1/K//n u=x new=1 newer=a,b"
		got, err := ParseInventoryEntry(text)
		if err != nil || got.String() != text {
			t.Errorf("got %s, %v", got, err)
		}
	})
}

func TestInventoryEntryErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "want group/version/kind/namespace/name"},
		{"too few parts", "v1/ConfigMap/ns/n", "want group/version/kind/namespace/name"},
		{"too many parts", "a/v1/ConfigMap/ns/n/x", "want group/version/kind/namespace/name"},
		{"no version", "a//ConfigMap/ns/n", "want group/version/kind/namespace/name"},
		{"no kind", "a/v1//ns/n", "want group/version/kind/namespace/name"},
		{"no name", "a/v1/ConfigMap/ns/", "want group/version/kind/namespace/name"},
		{"a broken escape in the name", "a/v1/ConfigMap/ns/%zz", `invalid URL escape "%zz"`},
		{"a broken escape in a field", "a/v1/ConfigMap/ns/n u=%zz", `invalid URL escape "%zz"`},
		{"a broken escape in a type", "a/v1/ConfigMap/ns/n t=%zz", `invalid URL escape "%zz"`},
		{"a field without a value", "a/v1/ConfigMap/ns/n u", `field "u" has no value`},
		{"an order that is not a number", "a/v1/ConfigMap/ns/n o=x", `parsing "x"`},
		{"a delete order that is not a number", "a/v1/ConfigMap/ns/n x=x", `parsing "x"`},
		{"an occurrence that is not a number", "a/v1/ConfigMap/ns/n !oc@v0.1=x", `parsing "x"`},
		{"a hash that is not a number", "a/v1/ConfigMap/ns/n im=x", `parsing "x"`},
		{"a completion that is neither true nor false", "a/v1/ConfigMap/ns/n c=x", `parsing "x"`},
		{"a decision that is neither true nor false", "a/v1/ConfigMap/ns/n lo=x", `parsing "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseInventoryEntry(c.text)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "inventory entry ") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCriticalFields(t *testing.T) {
	for _, c := range []struct{ name, text, field, since, message string }{
		{
			"a field of a newer version", "batch/v1/Job/shop/a%20b u=x !xx@v9.1=1 r=1", "xx", "v9.1",
			`inventory entry batch/v1/Job/shop/a%20b: the field "xx" must not be ignored, and this version does not know it; ` +
				"v9.1 and later versions of the operator know it",
		},
		{
			"a field without a version", "/v1/K//n !xx=1", "xx", "",
			`inventory entry /v1/K//n: the field "xx" must not be ignored, and this version does not know it; ` +
				"a newer version of the operator wrote it",
		},
		{"a known field with another version", "/v1/K//n !oc@v9.1=1", "oc", "v9.1", ""},
		{"a field with the name of a field that is not critical", "/v1/K//n !u@v9.1=1", "u", "v9.1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			entries, err := ParseInventory([]string{"/v1/K//a", "bad", c.text})
			if len(entries) != 1 {
				t.Errorf("got %v", entries)
			}
			unknown, ok := errors.AsType[*UnknownFieldError](err)
			if !ok || unknown.Field != c.field || unknown.Since != c.since {
				t.Fatalf("got %#v", err)
			}
			if c.message != "" && unknown.Error() != c.message {
				t.Errorf("got %s", unknown)
			}
		})
	}
}

// The golden records were written by earlier versions: the first before fields could be critical, the second before
// objects could depend on others, the third before externals, the fourth before the tokens of creates, the fifth before
// the hashes of immutable fields, and the sixth before the field of objects that are left out. If you change the format,
// add a record in the old format as another file.
func TestPreviousRecordsAreReadAndWrittenUnchanged(t *testing.T) {
	files, err := filepath.Glob("testdata/inventory-*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d golden records: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			entries, err := ParseInventory(lines)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range entries {
				if e.String() != lines[i] {
					t.Errorf("got  %s\nwant %s", e, lines[i])
				}
				if len(e.unknown) > 0 {
					t.Errorf("unknown fields: %q", e.unknown)
				}
			}
		})
	}
}

func TestParseInventory(t *testing.T) {
	got, err := ParseInventory([]string{"/v1/K//a", "bad", "/v1/K//b", "worse"})
	if len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" {
		t.Errorf("got the valid entries %v", got)
	}
	if err == nil || !strings.Contains(err.Error(), `"bad"`) || !strings.Contains(err.Error(), `"worse"`) {
		t.Errorf("got %v", err)
	}
}

func TestEffectiveDeleteOrder(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry InventoryEntry
		want  int
	}{
		{"the reverse of the order", InventoryEntry{Order: 5}, -5},
		{"its own", InventoryEntry{Order: 5, DeleteOrder: new(7)}, 7},
		{"an explicit zero", InventoryEntry{Order: 5, DeleteOrder: new(0)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.entry.EffectiveDeleteOrder(); got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

func FuzzParseInventoryEntry(f *testing.F) {
	f.Add(typical)
	f.Add("/v1/K//a%20b u=x new=1 t=a,*.b x=0 c=true")
	f.Add("/v1/K//n t=, t=%2C o=007 u= =")
	fuzzing.Run(f, func(t *testing.T, text string) {
		first, err := ParseInventoryEntry(text)
		if err != nil {
			return
		}
		second, err := ParseInventoryEntry(first.String())
		if err != nil {
			t.Fatalf("%q is formatted as %q: %v", text, first, err)
		}
		if diff := cmp.Diff(first, second, cmp.AllowUnexported(InventoryEntry{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q is formatted as %q:\n%s", text, first, diff)
		}
	})
}

func FuzzInventoryEntry(f *testing.F) {
	f.Add("apps", "v1", "Deployment", "shop", "web", "u", "A.b")
	f.Add("", "v 1", "K%", "a/b", "x\ny", "=", "a,b")
	fuzzing.Run(f, func(t *testing.T, group, version, kind, namespace, name, uid, defined string) {
		want := InventoryEntry{Group: group, Version: version, Kind: kind, Namespace: namespace, Name: name, Digest: uid}
		if defined != "" {
			want.Types = []string{defined, defined}
		}
		got, err := ParseInventoryEntry(want.String())
		if version == "" || kind == "" || name == "" {
			if err == nil {
				t.Errorf("the invalid entry %q was parsed", want)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(InventoryEntry{})); diff != "" {
			t.Error(diff)
		}
	})
}
