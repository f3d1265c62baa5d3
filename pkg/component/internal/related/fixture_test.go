package related

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component/internal/eventsources/eventsourcestest"
)

var errDown = eventsourcestest.ErrDown

func named(name string) client.Object { return eventsourcestest.Named(name) }

func key(name string) types.NamespacedName { return eventsourcestest.Key(name) }
