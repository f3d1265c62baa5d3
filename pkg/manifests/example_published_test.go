package manifests_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleIsSecret() {
	fmt.Println(manifests.IsSecret(manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}))
	fmt.Println(manifests.IsSecret(manifests.Key{Group: "example.com", Kind: "Secret", Namespace: "shop", Name: "db"}))
	// Output:
	// true
	// false
}
