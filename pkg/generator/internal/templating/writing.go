package templating

import (
	"fmt"
	"maps"
	"reflect"
	"text/template"
)

// writing returns the template functions that convert their arguments, including maps and lists, to text.
func (s *session) writing() template.FuncMap {
	many := func(f func(...any) string) any {
		return func(values ...any) (string, error) {
			if err := s.Budget.spendWritten(values...); err != nil {
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
			if err := s.Budget.spendWritten(values...); err != nil {
				return "", err
			}
			s.Budget.varies = s.Budget.varies || addressVerb.MatchString(format)
			return fmt.Sprintf(format, values...), nil
		},
	}
	maps.Copy(functions, around(many, "cat", "quote", "squote"))
	maps.Copy(functions, around(func(f func(any) string) any {
		return func(value any) (string, error) {
			if err := s.Budget.spendWritten(value); err != nil {
				return "", err
			}
			return f(value), nil
		}
	}, "toString"))
	maps.Copy(functions, around(func(f func(any) []string) any {
		return func(list any) ([]string, error) {
			if err := s.Budget.spendWritten(list); err != nil {
				return nil, err
			}
			return f(list), nil
		}
	}, "toStrings", "sortAlpha"))
	maps.Copy(functions, around(func(f func(string, any) string) any {
		return func(separator string, list any) (string, error) {
			if err := s.spendJoined(separator, list); err != nil {
				return "", err
			}
			return f(separator, list), nil
		}
	}, "join"))
	return functions
}

// spendJoined charges the elements of a list, and the separators between them, to the budget.
func (s *session) spendJoined(separator string, list any) error {
	before := s.Budget.spent
	if err := s.Budget.spendWritten(list); err != nil {
		return err
	}
	// Each element costs at least elementCost, so the quotient is at least the number of elements.
	return s.Budget.spendProduct((s.Budget.spent-before)/elementCost, len(separator))
}

// copying returns the template functions that copy maps and lists.
func (s *session) copying() template.FuncMap {
	functions := around(func(f func(any) any) any {
		return func(value any) (any, error) {
			if err := s.Budget.spendWritten(value); err != nil {
				return nil, err
			}
			return f(value), nil
		}
	}, "deepCopy")
	maps.Copy(functions, around(func(f func(any) (any, error)) any {
		return func(value any) (any, error) {
			if err := s.Budget.spendWritten(value); err != nil {
				return nil, err
			}
			return f(value)
		}
	}, "mustDeepCopy"))
	maps.Copy(functions, around(func(f func(...any) any) any {
		return func(lists ...any) (any, error) {
			for _, list := range lists {
				if _, err := s.Budget.counted(reflect.ValueOf(list)); err != nil {
					return nil, err
				}
			}
			return f(lists...), nil
		}
	}, "concat"))
	return functions
}
