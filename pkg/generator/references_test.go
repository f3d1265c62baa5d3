package generator_test

import (
	"fmt"
	"testing"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

func referenced(kind metav1alpha1.ReferenceKind, namespace, name string) generator.Reference {
	return generator.Reference{Kind: kind, Namespace: namespace, Name: name}
}

func TestValuesOfSecretsAreFound(t *testing.T) {
	references := generator.References{
		referenced(metav1alpha1.SecretReference, "b", "api"): {"token": []byte("of b")},
		referenced(metav1alpha1.SecretReference, "a", "api"): {
			"token": []byte("of a"), "user": []byte("admin"),
			"empty": {},
		},
		referenced(metav1alpha1.ConfigMapReference, "a", "api"):   {"token": []byte("of a ConfigMap"), "zone": []byte("z")},
		referenced(metav1alpha1.ConfigMapReference, "a", "zones"): {"zone": []byte("z")},
	}
	none := func(call func(string) (string, error), key, want string) {
		t.Helper()
		if value, err := call(key); value != "" || fmt.Sprint(err) != want {
			t.Errorf("%s: got %q, %v; want %s", key, value, err, want)
		}
	}
	of := func(name string) func(string) (string, error) {
		return func(key string) (string, error) { return references.Secret(name, key) }
	}
	if value, err := references.Secret("api", "token"); value != "of a" || err != nil {
		t.Errorf("got %q, %v", value, err)
	}
	none(of("zones"), "zone", "Secret zones is not among the references; add it")
	none(of("api"), "zone", "Secret api has no value for the key zone; set it")
	none(of("api"), "empty", "Secret api has no value for the key empty; set it")

	if value, err := references.OnlySecret("user"); value != "admin" || err != nil {
		t.Errorf("got %q, %v", value, err)
	}
	none(references.OnlySecret, "empty", "no Secret among the references has a value for the key empty; add one")
	none(references.OnlySecret, "zone", "no Secret among the references has a value for the key zone; add one")
	none(references.OnlySecret, "token",
		"the Secrets api, api among the references have a value for the key token; name only one of them")
	none(generator.References(nil).OnlySecret, "token",
		"no Secret among the references has a value for the key token; add one")
}

// A handler or a generator that knows the name of a Secret reads a value of it.
func ExampleReferences_Secret() {
	references := generator.References{
		{Kind: "Secret", Namespace: "apps", Name: "db-admin"}: {"username": []byte("admin")},
	}
	fmt.Println(references.Secret("db-admin", "username"))
	fmt.Println(references.Secret("db-admin", "password"))
	// Output:
	// admin <nil>
	//  Secret db-admin has no value for the key password; set it
}

// A handler of externals gets the Secrets that the manifest names. It need not know their names.
func ExampleReferences_OnlySecret() {
	references := generator.References{
		{Kind: "Secret", Namespace: "apps", Name: "dns-api"}: {"token": []byte("t0k3n")},
	}
	fmt.Println(references.OnlySecret("token"))
	// Output: t0k3n <nil>
}
