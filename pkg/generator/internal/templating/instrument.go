package templating

import (
	"fmt"
	"reflect"
	"slices"
	"text/template"
	"text/template/parse"
)

// The names of functions that instrument adds to templates. A template that calls them itself does no harm.
const (
	countedFunction   = "_counted"
	printableFunction = "_printable"
)

// parse parses a text, and instruments all templates that the text defines. It subtracts the number of words in the
// text from words, which must not become negative.
func (i instrument) parse(name, text string, d Delimiters, words *int) (map[string]*parse.Tree, error) {
	found, err := checkTemplate(name, text, d)
	if err != nil {
		return nil, err
	}
	if *words -= found; *words < 0 {
		return nil, fmt.Errorf("template: %s:1: %w", name,
			&limitError{fmt.Sprintf("the actions of the templates up to here have more than %d words", maxTemplateWords)})
	}
	trees, err := parse.Parse(name, text, d.Left, d.Right, i.functions, builtins)
	if err != nil {
		return nil, err
	}
	for _, tree := range trees {
		i.list(tree.Root)
	}
	return trees, nil
}

// builtins are the predefined functions of text/template that tableOf does not replace. The parser needs only their
// names.
var builtins = map[string]any{
	"and": true, "or": true, "not": true, "call": true, "index": true, "slice": true, "len": true,
	"lt": true, "le": true, "gt": true, "ge": true,
}

// instrument parses templates and adds nodes that charge the budget.
type instrument struct {
	// functions are all functions that templates can call. Only their names and types are used.
	functions template.FuncMap
	// paying is true for the name of a function that itself charges its result to the budget. No node that charges the
	// budget is added for a call of such a function.
	paying map[string]bool
}

func newInstrument(options Options) instrument {
	i := instrument{functions: tableOf(options, nil), paying: map[string]bool{}}
	for name := range payingFunctions(options, &session{}) {
		_, replaced := options.Functions[name]
		i.paying[name] = !replaced
	}
	return i
}

func (i instrument) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for at, node := range list.Nodes {
		if call, ok := node.(*parse.TemplateNode); ok {
			node = includeOf(call)
			list.Nodes[at] = node
		}
		i.node(node)
	}
}

func (i instrument) node(node parse.Node) {
	switch node := node.(type) {
	case *parse.ActionNode:
		i.pipe(node.Pipe)
		i.print(node.Pipe)
	case *parse.IfNode:
		i.branch(&node.BranchNode)
	case *parse.WithNode:
		i.branch(&node.BranchNode)
	case *parse.RangeNode:
		i.branch(&node.BranchNode)
		// An empty text node: each iteration of the loop writes an empty text, and each write is charged to the budget.
		turn := &parse.TextNode{NodeType: parse.NodeText, Pos: node.Pos}
		node.List.Nodes = append([]parse.Node{turn}, node.List.Nodes...)
	}
}

func (i instrument) branch(branch *parse.BranchNode) {
	i.pipe(branch.Pipe)
	i.list(branch.List)
	i.list(branch.ElseList)
}

// includeOf converts {{ template NAME DATA }} to {{ include NAME DATA }}.
func includeOf(call *parse.TemplateNode) *parse.ActionNode {
	name := &parse.StringNode{NodeType: parse.NodeString, Pos: call.Pos, Quoted: `"` + call.Name + `"`, Text: call.Name}
	command := &parse.CommandNode{
		NodeType: parse.NodeCommand,
		Pos:      call.Pos,
		Args:     []parse.Node{identifier(call.Pos, "include"), name},
	}
	pipe := &parse.PipeNode{
		NodeType: parse.NodePipe,
		Pos:      call.Pos,
		Line:     call.Line,
		Cmds:     []*parse.CommandNode{command},
	}
	if call.Pipe == nil {
		command.Args = append(command.Args, &parse.NilNode{NodeType: parse.NodeNil, Pos: call.Pos})
	} else {
		command.Args = append(command.Args, call.Pipe)
	}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: call.Pos, Line: call.Line, Pipe: pipe}
}

func identifier(pos parse.Pos, name string) *parse.IdentifierNode {
	return &parse.IdentifierNode{NodeType: parse.NodeIdentifier, Pos: pos, Ident: name}
}

// pipe adds a call of counted after each function in a pipeline, so that its result is charged to the budget.
func (i instrument) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	commands := make([]*parse.CommandNode, 0, 2*len(pipe.Cmds))
	for c, command := range pipe.Cmds {
		if c > 0 || len(command.Args) > 1 {
			askOne(command.Args[0])
		}
		for at, argument := range command.Args {
			i.argument(argument)
			command.Args[at] = i.method(argument, at > 0)
		}
		commands = append(commands, command)
		if i.makesSomething(command) {
			commands = append(commands, call(command.Pos, countedFunction))
		}
	}
	pipe.Cmds = commands
}

func call(pos parse.Pos, function string) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{identifier(pos, function)}}
}

func (i instrument) argument(argument parse.Node) {
	switch argument := argument.(type) {
	case *parse.PipeNode:
		i.pipe(argument)
	case *parse.ChainNode:
		i.argument(argument.Node)
	}
}

// methods are the methods of values in templates whose result can be much larger than the template. They are methods of
// .Files and .Values in charts. Fields of the same names are charged too.
var methods = setOf("Get", "GetBytes", "Glob", "AsConfig", "AsSecrets", "Lines", yamlMethod)

// yamlMethod is the method of .Values in charts that writes all values.
const yamlMethod = "YAML"

// fieldsOf returns the fields that a node reads, one after the other.
func fieldsOf(node parse.Node) []string {
	switch node := node.(type) {
	case *parse.FieldNode:
		return node.Ident
	case *parse.VariableNode:
		return node.Ident[1:]
	case *parse.ChainNode:
		return node.Field
	default:
		return nil
	}
}

// methodIn returns the index of the first method in a list of fields, or -1.
func methodIn(fields []string) int {
	return slices.IndexFunc(fields, func(field string) bool { return methods[field] })
}

// method returns the node in place of a node that calls a method. The result of a method without arguments is charged
// if it is an argument itself; the results of commands are charged anyway. The values that YAML writes are charged
// before.
func (i instrument) method(node parse.Node, isArgument bool) parse.Node {
	fields := fieldsOf(node)
	if methodIn(fields) < 0 {
		return node
	}
	pos := node.Position()
	if at := slices.Index(fields, yamlMethod); at >= 0 {
		node = &parse.ChainNode{
			NodeType: parse.NodeChain, Pos: pos, Field: fields[at:],
			Node: pipeOf(pos, upTo(node, at), identifier(pos, printableFunction)),
		}
	}
	if isArgument {
		return pipeOf(pos, node, identifier(pos, countedFunction))
	}
	return node
}

// upTo returns a node that reads only the first fields of a node.
func upTo(node parse.Node, count int) parse.Node {
	switch node := node.(type) {
	case *parse.FieldNode:
		if count == 0 {
			return &parse.DotNode{NodeType: parse.NodeDot, Pos: node.Pos}
		}
		return &parse.FieldNode{NodeType: parse.NodeField, Pos: node.Pos, Ident: node.Ident[:count]}
	case *parse.VariableNode:
		return &parse.VariableNode{NodeType: parse.NodeVariable, Pos: node.Pos, Ident: node.Ident[:count+1]}
	case *parse.ChainNode:
		if count == 0 {
			return node.Node
		}
		return &parse.ChainNode{NodeType: parse.NodeChain, Pos: node.Pos, Node: node.Node, Field: node.Field[:count]}
	default:
		return node
	}
}

// pipeOf returns a pipeline whose commands have no arguments.
func pipeOf(pos parse.Pos, nodes ...parse.Node) *parse.PipeNode {
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos}
	for _, node := range nodes {
		pipe.Cmds = append(
			pipe.Cmds,
			&parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{node}},
		)
	}
	return pipe
}

// makesSomething reports whether a command calls a function whose result must be charged to the budget. Functions that
// charge it themselves, and functions that return numbers or booleans, are excluded.
func (i instrument) makesSomething(command *parse.CommandNode) bool {
	function, ok := command.Args[0].(*parse.IdentifierNode)
	if !ok {
		return methodIn(fieldsOf(command.Args[0])) >= 0
	}
	if i.paying[function.Ident] {
		return false
	}
	small := []reflect.Kind{reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64}
	return !slices.Contains(small, i.resultOf(function.Ident))
}

// resultOf returns the kind of a function's result, or reflect.Interface if it is not known.
func (i instrument) resultOf(function string) reflect.Kind {
	if implementation, known := i.functions[function]; known {
		return reflect.TypeOf(implementation).Out(0).Kind()
	}
	switch function {
	case "not", "eq", "ne", "lt", "le", "gt", "ge":
		return reflect.Bool
	case "len":
		return reflect.Int
	default:
		return reflect.Interface
	}
}

// print adds a call of printable to an action that writes a value, so that the value is charged to the budget. Strings
// are excluded, because they were charged when they were created.
func (i instrument) print(pipe *parse.PipeNode) {
	if len(pipe.Decl) > 0 {
		return
	}
	for _, command := range pipe.Cmds[max(0, len(pipe.Cmds)-2):] {
		if function, ok := command.Args[0].(*parse.IdentifierNode); ok && i.resultOf(function.Ident) == reflect.String {
			return
		}
	}
	pipe.Cmds = append(pipe.Cmds, call(pipe.Pos, printableFunction))
}
