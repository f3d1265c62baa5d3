package settingtext_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/settingtext"
)

func ExampleParseReadyWhen() {
	condition, err := settingtext.ParseReadyWhen("self.status.phase == 'Bound'")
	fmt.Println(condition.Expression, err)
	condition, err = settingtext.ParseReadyWhen("go/rolled-out")
	fmt.Println(condition.Name, err)
	_, err = settingtext.ParseReadyWhen("self.status.")
	fmt.Println(err != nil)
	// Output:
	// self.status.phase == 'Bound' <nil>
	// rolled-out <nil>
	// true
}

func ExampleParseGoneWhen() {
	condition, err := settingtext.ParseGoneWhen(`self.status.phase == "Released"`)
	fmt.Println(condition, err)
	// Output: self.status.phase == "Released" <nil>
}
