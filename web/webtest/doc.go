// Package webtest sends requests to a server as clients and browsers do, for tests of the APIs and pages.
// It does not depend on other packages of Mayfly:
//
//	c := webtest.Serve(t, handler)
//	a := c.Want(201, "POST", "/q/messages", "hello", "Content-Type", "text/plain")
//	if a.Header.Get("Location") == "" { … }
//
// A request that cannot be sent, or an answer that cannot be read, fails the test.
package webtest
