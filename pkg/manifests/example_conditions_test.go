package manifests_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func ExampleParseReadyWhen() {
	condition, err := manifests.ParseReadyWhen("self.status.phase == 'Bound'")
	fmt.Println(condition.Expression, err)
	condition, err = manifests.ParseReadyWhen("go/rolled-out")
	fmt.Println(condition.Name, err)
	_, err = manifests.ParseReadyWhen("self.status.")
	fmt.Println(err != nil)
	// Output:
	// self.status.phase == 'Bound' <nil>
	// rolled-out <nil>
	// true
}

func ExampleParseGoneWhen() {
	condition, err := manifests.ParseGoneWhen(`self.status.phase == "Released"`)
	fmt.Println(condition, err)
	// Output: self.status.phase == "Released" <nil>
}
