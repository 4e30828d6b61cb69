"""Our tasks as Harbor's folders."""
