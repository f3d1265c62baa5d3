package externaltest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/external/externaltest"
)

// The test of a handler is one call, with the external to create and a fake of the external system.
func ExampleCheck() {
	test := func(t *testing.T) {
		system := newStore("")
		driver := external.Of("Bucket", named{buckets{system}}, external.Options[Bucket]{})
		externaltest.Check(t, driver, externaltest.Case{
			Spec:            Bucket{Name: "media", Size: 1, Zone: "a"},
			Changed:         Bucket{Name: "media", Size: 2, Zone: "a"},
			Immutable:       Bucket{Name: "media", Size: 1, Zone: "b"},
			References:      secret(password),
			WrongReferences: secret("wrong"),
			LoseAnswer:      system.loseAnswer,
		})
	}
	_ = test
}

// A program outside a test gets the violations as an error.
func ExampleVerify() {
	driver := external.Of("Bucket", named{buckets{newStore("a create takes over")}}, external.Options[Bucket]{})
	fmt.Println(externaltest.Verify(context.Background(), driver, externaltest.Case{
		Spec: Bucket{Name: "media", Size: 1}, References: secret(password), Within: time.Millisecond,
	}))
	// Output:
	// Create must return ErrExists if an external with this identity exists and has another token; it returned: no error
	// the new external has another token; Create must store r.Token, and Token must return it
}
