"""Requests, results and errors on their way between our client and our server.

Outside clients have the routes of the contract, whose shapes are fixed. Ours sends what a handle
asks for as it is, and gets what an engine gives, whole: so a method answers the same in both
places.
"""
