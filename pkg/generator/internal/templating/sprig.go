package templating

import (
	"fmt"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// sprigFunctions are those that functions here do their work with.
var sprigFunctions = sprig.TxtFuncMap()

// around puts wrap around functions of sprig, all of type F.
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
