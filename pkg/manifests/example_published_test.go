package manifests_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleKey_IsSecret() {
	fmt.Println(manifests.Key{Kind: "Secret", Namespace: "shop", Name: "db"}.IsSecret())
	fmt.Println(manifests.Key{Group: "example.com", Kind: "Secret", Namespace: "shop", Name: "db"}.IsSecret())
	// Output:
	// true
	// false
}
