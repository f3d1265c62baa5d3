package digests_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/digests"
)

func ExampleOf() {
	a, errA := digests.Of(map[string]any{"a": int64(1), "b": int64(2)})
	b, errB := digests.Of(map[string]any{"b": int64(2), "a": int64(1)})
	fmt.Println(a == b, errA, errB)
	// Output: true <nil> <nil>
}

func ExampleSameContent() {
	fmt.Println(
		digests.SameContent("content.one", "content.other"),
		digests.SameContent("content.one", "changed.one"),
	)
	// Output: true false
}

func ExampleTemplate() {
	fmt.Println(digests.Template("0123456789abcdef.01234567.fedcba9876543210"))
	// Output: fedcba9876543210.01234567
}
