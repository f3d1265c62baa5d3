package manifests_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleCheckPublished() {
	objects := []manifests.Object{{
		Key: manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"},
		Settings: manifests.Settings{Rare: &manifests.RareSettings{
			Exports: []manifests.Export{{Name: "password", Expression: "self.stringData.password"}},
		}},
	}}
	fmt.Println(manifests.CheckPublished([]string{"password"}, objects))
	// Output: the component publishes the export password of Secret shop/db, but values of Secrets are never published
}

func ExampleIsSecret() {
	fmt.Println(manifests.IsSecret(manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}))
	fmt.Println(manifests.IsSecret(manifests.Key{Group: "example.com", Kind: "Secret", Namespace: "shop", Name: "db"}))
	// Output:
	// true
	// false
}
