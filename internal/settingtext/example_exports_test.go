package settingtext_test

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/settingtext"
)

func ExampleIsExportName() {
	fmt.Println(settingtext.IsExportName("dbHost"), settingtext.IsExportName("db-host"))
	// Output: true false
}

func ExampleParseExports() {
	exports, err := settingtext.ParseExports("host=self.spec.clusterIP, port=self.spec.ports[0].port")
	for _, e := range exports {
		fmt.Println(e.Name, "is", e.Expression)
	}
	fmt.Println(err)
	// Output:
	// host is self.spec.clusterIP
	// port is self.spec.ports[0].port
	// <nil>
}
