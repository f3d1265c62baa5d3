package componenttest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// A cloud loses the answer of a create that took effect.
func ExampleNewCloud() {
	cloud := componenttest.NewCloud()
	cloud.SetFault(func(c componenttest.CloudCall) componenttest.CloudFault {
		if c.Method == "Create" {
			return componenttest.CloudFault{After: errors.New("connection reset")}
		}
		return componenttest.CloudFault{}
	})
	kind := componenttest.FindableThings{Things: componenttest.Things{Cloud: cloud}}
	ref := external.Ref[componenttest.ThingSpec]{Token: "t1", Spec: componenttest.ThingSpec{Value: "a"}}
	_, err := kind.Create(context.Background(), ref)
	id, found, _ := kind.Find(context.Background(), ref)
	fmt.Println(err, id, found, len(cloud.Things()))
	// Output: connection reset thing-1 true 1
}
