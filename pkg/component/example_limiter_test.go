package component_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// Two passes within three seconds follow each other without a delay; the third one waits.
func ExamplePassesWithin() {
	limiter := component.PassesWithin(2, 3*time.Second)
	shop, now := types.NamespacedName{Namespace: "apps", Name: "shop"}, time.Now()
	for range 3 {
		fmt.Println(limiter.Delay(shop, now))
		limiter.Passed(shop, now)
	}
	// Output:
	// 0s
	// 0s
	// 3s
}
