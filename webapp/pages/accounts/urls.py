"""Addresses of accounts."""

from django.urls import path

from webapp.pages.accounts import first, log_in, own, passwords, users

app_name = "accounts"
urlpatterns = [
    path("accounts/log-in/", log_in.log_in, name="log-in"),
    path("accounts/log-out/", log_in.log_out, name="log-out"),
    path("accounts/set-up/<str:token>/", first.first_operator, name="set-up"),
    path("accounts/password/", passwords.change_password, name="change-password"),
    path("accounts/password/mail/", passwords.ask_for_mail, name="ask-for-mail"),
    path("accounts/password/<uidb64>/<token>/", passwords.set_password, name="set-password"),
    path("account/", own.own, name="own"),
    path("account/tokens/", own.make_token, name="make-token"),
    path("account/tokens/<uuid:token_id>/revoke/", own.revoke_token, name="revoke-token"),
    path("account/sessions/<int:session_number>/end/", own.end_session, name="end-session"),
    path("users/", users.users, name="users"),
    path("users/limits/", users.everybodys_quota, name="limits"),
    path("users/log/", users.log, name="log"),
    path("users/<uuid:user_id>/", users.user, name="user"),
    path("users/<uuid:user_id>/limits/remove/", users.remove_quota, name="remove-quota"),
    path("users/<uuid:user_id>/password-link/", users.password_link, name="password-link"),
]
