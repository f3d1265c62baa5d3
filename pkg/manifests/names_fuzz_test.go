package manifests_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// A text that is parsed must be the text of the result. Labels and annotations of live objects have such texts.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"c/shop.example.com/example.com/Shop/apps/shop", "Deployment.apps shop/web", "Node a", "Widget.example.com",
		"*.*.example.com", "has-observed-generation, conditions=A;B", "////// ", " ", ".",
	} {
		f.Add(seed)
	}
	fuzzing.Run(f, func(t *testing.T, text string) {
		if owner, ok := manifests.ParseOwner(text); ok && owner.String() != text {
			t.Errorf("%q is parsed as owner %q", text, owner)
		}
		if key, ok := manifests.ParseKey(text); ok && key.String() != text {
			t.Errorf("%q is parsed as key %q", text, key)
		}
		if managed, err := manifests.ParseManagedType(text); err == nil && managed.String() != text {
			t.Errorf("%q is parsed as type %q", text, managed)
		}
		if hints, err := settingtext.ParseStatusHints(text); err != nil && err.Error() == "" {
			t.Errorf("%q has the hints %v, and an error without a text", text, hints)
		}
	})
}
