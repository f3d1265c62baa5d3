package templating

import (
	"fmt"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// sprigFunctions are the functions of sprig. Functions of this package call some of them.
var sprigFunctions = sprig.TxtFuncMap()

// around returns the named functions of sprig, each wrapped by wrap. All of them must have the type F.
func around[F any](wrap func(F) any, names ...string) template.FuncMap {
	wrapped := template.FuncMap{}
	for _, name := range names {
		function, ok := sprigFunctions[name].(F)
		if !ok {
			wrapped[name] = func(...any) (any, error) {
				return nil, fmt.Errorf("this version of sprig has a %T, not a %T", sprigFunctions[name], function)
			}
			continue
		}
		wrapped[name] = wrap(function)
	}
	return wrapped
}
