package templating

import (
	"fmt"
	"maps"
	"reflect"
	"text/template"
)

// writing are the template functions that convert values to text, or copy them.
type writing struct{ in *Input }

// functions returns the template functions that convert their arguments, including maps and lists, to text.
func (w writing) functions() template.FuncMap {
	many := func(f func(...any) string) any {
		return func(values ...any) (string, error) {
			if err := w.in.Budget.spendWritten(values...); err != nil {
				return "", err
			}
			return f(values...), nil
		}
	}
	functions := template.FuncMap{
		"print":    many(fmt.Sprint),
		"println":  many(fmt.Sprintln),
		"html":     many(template.HTMLEscaper),
		"js":       many(template.JSEscaper),
		"urlquery": many(template.URLQueryEscaper),
		"printf": func(format string, values ...any) (string, error) {
			if err := w.in.Budget.spendWritten(values...); err != nil {
				return "", err
			}
			w.in.Budget.varies = w.in.Budget.varies || addressVerb.MatchString(format)
			return fmt.Sprintf(format, values...), nil
		},
	}
	maps.Copy(functions, around(many, "cat", "quote", "squote"))
	maps.Copy(functions, around(func(f func(any) string) any {
		return func(value any) (string, error) {
			if err := w.in.Budget.spendWritten(value); err != nil {
				return "", err
			}
			return f(value), nil
		}
	}, "toString"))
	maps.Copy(functions, around(func(f func(any) []string) any {
		return func(list any) ([]string, error) {
			if err := w.in.Budget.spendWritten(list); err != nil {
				return nil, err
			}
			return f(list), nil
		}
	}, "toStrings", "sortAlpha"))
	maps.Copy(functions, around(func(f func(string, any) string) any {
		return func(separator string, list any) (string, error) {
			if err := w.spendJoined(separator, list); err != nil {
				return "", err
			}
			return f(separator, list), nil
		}
	}, "join"))
	return functions
}

// spendJoined charges the elements of a list, and the separators between them, to the budget.
func (w writing) spendJoined(separator string, list any) error {
	before := w.in.Budget.spent
	if err := w.in.Budget.spendWritten(list); err != nil {
		return err
	}
	// Each element costs at least elementCost, so the quotient is at least the number of elements.
	return w.in.Budget.spendProduct((w.in.Budget.spent-before)/elementCost, len(separator))
}

// copying returns the template functions that copy maps and lists.
func (w writing) copying() template.FuncMap {
	functions := around(func(f func(any) any) any {
		return func(value any) (any, error) {
			if err := w.in.Budget.spendWritten(value); err != nil {
				return nil, err
			}
			return f(value), nil
		}
	}, "deepCopy")
	maps.Copy(functions, around(func(f func(any) (any, error)) any {
		return func(value any) (any, error) {
			if err := w.in.Budget.spendWritten(value); err != nil {
				return nil, err
			}
			return f(value)
		}
	}, "mustDeepCopy"))
	maps.Copy(functions, around(func(f func(...any) any) any {
		return func(lists ...any) (any, error) {
			for _, list := range lists {
				if _, err := w.in.Budget.counted(reflect.ValueOf(list)); err != nil {
					return nil, err
				}
			}
			return f(lists...), nil
		}
	}, "concat"))
	return functions
}
