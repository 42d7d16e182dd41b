// Package webtest sends requests to a server as clients and browsers do, for tests of the APIs and pages.
// It does not depend on the product:
//
//	c := webtest.Serve(t, handler)
//	a := c.Want(201, "POST", "/q/messages", "hello", "Content-Type", "text/plain")
//	if a.Header.Get("Location") == "" { … }
//
// What cannot be sent or read fails the test.
package webtest
