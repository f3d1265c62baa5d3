package v1alpha1

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

func TestTheTextOfALookup(t *testing.T) {
	for _, c := range []struct {
		name, text string
		lookup     Lookup
	}{
		{"an object", "/v1/Secret/shop/db d=5b0e", Lookup{
			Version: "v1", Kind: "Secret", Namespace: "shop", Name: "db",
			State: LookupFound, Digest: "5b0e",
		}},
		{
			"an object whose status affects the rendering", "apps/v1/Deployment/shop/web d=5b0e s=true",
			Lookup{
				Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web", State: LookupFound,
				Digest: "5b0e", Status: true,
			},
		},
		{
			"an object that is missing", "/v1/Secret/shop/db is=missing",
			Lookup{Version: "v1", Kind: "Secret", Namespace: "shop", Name: "db", State: LookupMissing},
		},
		{
			"a list in the cluster of the component", "/v1/Pod//* l=true d=aa",
			Lookup{Version: "v1", Kind: "Pod", Name: LookupList, Local: true, State: LookupFound, Digest: "aa"},
		},
		{
			"a name with a colon, a blank and a percent sign",
			"rbac.authorization.k8s.io/v1/ClusterRole//system:a%20b%25 is=own",
			Lookup{
				Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole", Name: "system:a b%",
				State: LookupOwn,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.lookup.String(); got != c.text {
				t.Errorf("formatted as %q, want %q", got, c.text)
			}
			if got, err := ParseLookup(c.text); err != nil || got != c.lookup {
				t.Errorf("parsed as %+v, %v, want %+v", got, err, c.lookup)
			}
		})
	}
}

func TestALookupThatCannotBeReadIsAnError(t *testing.T) {
	for _, text := range []string{
		"", "v1/Secret/shop/db", "/v1/Secret/shop/", "/v1/Secret/shop/%zz",
		"/v1/Secret/shop/db d", "/v1/Secret/shop/db x=1", "/v1/Secret/shop/db d=%zz",
	} {
		if got, err := ParseLookup(text); err == nil {
			t.Errorf("%q is parsed as %+v", text, got)
		}
	}
}

func FuzzParseLookup(f *testing.F) {
	f.Add("apps/v1/Deployment/shop/web d=5b0e s=true l=true is=own")
	fuzzing.Run(f, func(t *testing.T, text string) {
		l, err := ParseLookup(text)
		if err != nil {
			return
		}
		again, err := ParseLookup(l.String())
		if err != nil || again != l {
			t.Errorf("%q is parsed as %+v, and its text form as %+v, %v", text, l, again, err)
		}
	})
}
