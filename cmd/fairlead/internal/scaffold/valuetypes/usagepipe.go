package valuetypes

import "text/template/parse"

// conditions are functions that test a value and whose result contains no part of the value.
var conditions = map[string]bool{
	"and": true, "or": true, "not": true, "empty": true, "eq": true, "ne": true, "lt": true, "le": true, "gt": true,
	"ge":     true,
	"kindIs": true, "kindOf": true, "typeIs": true, "typeOf": true, "len": true, "hasKey": true, "has": true, "fail": true,
	"keys": true,
}

// passing are functions that return one of their arguments.
var passing = map[string]bool{"default": true, "required": true, "coalesce": true, "ternary": true, "deepCopy": true}

// pipe analyses a pipeline, and sets the places of variables that it declares.
func (w walker) pipe(pipe *parse.PipeNode, s scope) place {
	var result place
	for i, command := range pipe.Cmds {
		result = w.command(command, s, result, i > 0)
	}
	for _, variable := range pipe.Decl {
		s.variables[variable.Ident[0]] = result
	}
	return result
}

// command analyses a command. Piped is the result of the previous command, which is its last argument.
func (w walker) command(command *parse.CommandNode, s scope, piped place, hasPiped bool) place {
	function, isCall := command.Args[0].(*parse.IdentifierNode)
	if !isCall {
		return w.expression(command.Args[0], s)
	}
	var arguments []place
	for _, argument := range command.Args[1:] {
		arguments = append(arguments, w.expression(argument, s))
	}
	if hasPiped {
		arguments = append(arguments, piped)
	}
	if last := len(arguments) - 1; function.Ident == "required" && last >= 0 && arguments[last].value {
		w.usage.demanded[arguments[last].path] = true
	}
	switch {
	case function.Ident == "index" || function.Ident == "get":
		return w.index(command.Args[1:], arguments)
	case conditions[function.Ident]:
		return place{}
	case passing[function.Ident]:
		return w.passed(arguments)
	}
	for _, argument := range arguments {
		w.note(argument)
	}
	return place{}
}

// index returns the place of a call of index with constant keys. With other keys, the value is used as a whole.
func (w walker) index(nodes []parse.Node, arguments []place) place {
	if len(arguments) == 0 {
		return place{}
	}
	result := arguments[0]
	for _, node := range nodes[min(1, len(nodes)):] {
		switch key := node.(type) {
		case *parse.StringNode:
			result = result.field(key.Text)
		case *parse.NumberNode:
			result = result.field(anyElement)
		default:
			w.note(result)
			return place{}
		}
	}
	if result.value && result.path != "" {
		w.usage.read[result.path] = w.file
	}
	return result
}

// passed returns the first value of the chart among the arguments.
func (w walker) passed(arguments []place) place {
	var result place
	for _, argument := range arguments {
		if result.value {
			w.note(argument)
			continue
		}
		if argument.value {
			result = argument
		}
	}
	return result
}

// expression returns the place of an operand.
func (w walker) expression(node parse.Node, s scope) place {
	found := w.operand(node, s)
	if found.value && found.path != "" {
		w.usage.read[found.path] = w.file
	}
	return found
}

func (w walker) operand(node parse.Node, s scope) place {
	switch n := node.(type) {
	case *parse.DotNode:
		return s.dot
	case *parse.FieldNode:
		return s.dot.fields(n.Ident)
	case *parse.VariableNode:
		return s.variables[n.Ident[0]].fields(n.Ident[1:])
	case *parse.ChainNode:
		return w.expression(n.Node, s).fields(n.Field)
	case *parse.PipeNode:
		return w.pipe(n, s)
	}
	return place{}
}
